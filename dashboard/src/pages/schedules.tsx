// Schedules in words: what is sent by itself, when it was last and how that ended, when it is next.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { schedules as schedulesQuery } from "../api/queries";
import type { ScheduleStatus } from "../api/schema";
import { scheduleInWords } from "../format/schedule";
import { DataTable, type Column } from "../parts/data-table";
import { QueueLink } from "../parts/links";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Ago, Until } from "../parts/when";
import { LastTicks } from "../schedules/last-ticks";
import { OneSchedule, Outcome } from "../schedules/one-schedule";
import { ScheduleActs } from "../schedules/schedule-acts";
import { words } from "../words";

const W = words.schedules;
const C = words.columns;

const columns: readonly Column<ScheduleStatus>[] = [
  { key: "name", title: C.schedule, cell: (row) => <span className="flex items-center gap-2"><b className={`min-w-0 truncate font-[550] ${row.in_app === false ? "text-soft italic" : ""}`} title={row.in_app === false ? `${row.name}: ${W.notInApp}` : row.name}>{row.name}</b>{row.paused && <StateWord state="paused" />}</span> },
  { key: "when", title: C.when, width: "27%", from: "sm", cell: (row) => <span title={row.spec}>{scheduleInWords(row.spec)}</span> },
  { key: "task", title: C.task, width: "14%", from: "xl", cell: (row) => <span>{row.task} <span className="text-soft"><QueueLink queue={row.queue} /></span></span> },
  { key: "last", title: C.last, width: "98px", isNumber: true, from: "md", cell: (row) => (row.last_at === null ? <span className="text-soft">{W.never}</span> : <Ago at={row.last_at} />) },
  { key: "outcome", title: C.outcome, width: "112px", from: "md", cell: (row) => <Outcome schedule={row} /> },
  { key: "next", title: C.next, width: "92px", isNumber: true, cell: (row) => (row.paused ? <span className="text-faint">{words.unknown}</span> : <Until at={row.next_at} />) },
  { key: "acts", title: <span className="sr-only">{C.acts}</span>, width: "190px", isNumber: true, from: "lg", cell: (row) => <ScheduleActs isSmall schedule={row} /> },
];

export default function SchedulesPage() {
  const { schedule } = useSearch({ from: "/schedules" });
  const navigate = useNavigate({ from: "/schedules" });
  const { data, error, refetch } = useQuery(schedulesQuery);
  const chosen = data?.schedules.find((one) => one.name === schedule);
  return (
    <Page title={W.title}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
          : data.schedules.length === 0 ? <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sections={[{ key: "all", rows: data.schedules }]} rowKey={(row) => row.name} onOpen={(row) => void navigate({ search: (search) => ({ ...search, schedule: row.name === schedule ? undefined : row.name }), replace: true })} openKey={schedule ?? null} />}
      </Panel>
      {chosen && (
        <div className="grid items-start gap-4 xl:grid-cols-2">
          <OneSchedule schedule={chosen} actions={<ScheduleActs schedule={chosen} />} />
          <LastTicks schedule={chosen} />
        </div>
      )}
    </Page>
  );
}
