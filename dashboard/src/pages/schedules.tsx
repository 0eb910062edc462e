// Schedules in words: what is sent by itself, when it was last and how that ended, when it is next.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { pauseSchedule, resumeSchedule, runSchedule } from "../acts/requests";
import { schedules as schedulesQuery } from "../api/queries";
import type { ScheduleStatus } from "../api/schema";
import { shortId } from "../format/names";
import { scheduleInWords } from "../format/schedule";
import { DataTable, type Column } from "../parts/data-table";
import { QueueLink } from "../parts/links";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Ago, Until } from "../parts/when";
import { useActs } from "../shell/session";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.schedules;
const C = words.columns;

export default function SchedulesPage() {
  const { data, error, refetch } = useQuery(schedulesQuery);
  const [asks, setAsks] = useState<{ what: "run" | "pause"; name: string } | null>(null);
  const { open } = useOpenMessage();
  const { may, why } = useActs();
  const doing = useDoing();
  const button = (label: string, act: () => void) => <button type="button" className="button min-h-6! px-2!" disabled={!may} title={why} onClick={act}>{label}</button>;
  const columns: readonly Column<ScheduleStatus>[] = [
    { key: "name", title: C.schedule, cell: (row) => <span className="flex items-center gap-2"><b className="min-w-0 truncate font-[550]">{row.name}</b>{row.paused && <StateWord state="paused" />}{row.in_app === false && <span className="text-faint">{W.notInApp}</span>}</span> },
    { key: "when", title: C.when, width: "28%", cell: (row) => <span title={row.spec}>{scheduleInWords(row.spec)}</span> },
    { key: "task", title: C.task, width: "16%", from: "xl", cell: (row) => <span>{row.task} <span className="text-soft"><QueueLink queue={row.queue} /></span></span> },
    { key: "last", title: C.last, width: "84px", isNumber: true, from: "sm", cell: (row) => (row.last_at === null ? <span className="text-soft">{W.never}</span> : <Ago at={row.last_at} />) },
    { key: "outcome", title: C.outcome, width: "108px", from: "md", cell: (row) => (row.message_id ? <button type="button" className="hover:underline" title={row.message_id} onClick={() => open(row.message_id!)}>{row.message_state ? <StateWord state={row.message_state} /> : <span className="mono text-soft">{shortId(row.message_id)}</span>}</button> : <span className="text-faint">{words.unknown}</span>) },
    { key: "next", title: C.next, width: "84px", isNumber: true, cell: (row) => (row.paused ? <span className="text-faint">{words.unknown}</span> : <Until at={row.next_at} />) },
    {
      key: "acts", title: <span className="sr-only">{C.acts}</span>, width: "178px", isNumber: true, from: "sm",
      cell: (row) => (
        <span className="inline-flex gap-1.5">
          {row.in_app && button(W.runNow, () => setAsks({ what: "run", name: row.name }))}
          {row.paused ? button(W.resume, () => doing.mutate({ act: () => resumeSchedule(row.name), done: () => W.resumed(row.name) })) : button(W.pause, () => setAsks({ what: "pause", name: row.name }))}
        </span>
      ),
    },
  ];
  return (
    <Page title={W.title}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
          : data.schedules.length === 0 ? <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sections={[{ key: "all", rows: data.schedules }]} rowKey={(row) => row.name} />}
      </Panel>
      {asks?.what === "run" && <Confirm title={W.runTitle(asks.name)} button={W.runNow} act={() => runSchedule(asks.name)} done={(run) => (run.duplicate ? W.ranDuplicate : W.ran(shortId(run.message_id)))} onClose={() => setAsks(null)}>{W.runBody}</Confirm>}
      {asks?.what === "pause" && <Confirm title={W.pauseTitle(asks.name)} button={W.pause} act={() => pauseSchedule(asks.name)} done={() => W.paused(asks.name)} onClose={() => setAsks(null)}>{W.pauseBody}</Confirm>}
    </Page>
  );
}
