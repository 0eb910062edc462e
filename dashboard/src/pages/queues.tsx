// Queues: all of them, as one table.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { figures as figuresQuery, queues as queuesQuery, scaling as scalingQuery } from "../api/queries";
import { DataTable } from "../parts/data-table";
import { Page, Panel } from "../parts/page";
import { readSort, sorted } from "../parts/sorting";
import { SearchField } from "../parts/search-field";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { deadColumn, delayedColumn, drainsColumn, inColumn, queueColumns, workersColumn, type QueueRow } from "../queues/queue-columns";
import { words } from "../words";

const W = words.queues;
const [name, course, waiting, running, oldest, use, out, times, errors] = queueColumns;
const COLUMNS = [name!, course!, waiting!, delayedColumn, running!, deadColumn, oldest!, drainsColumn, use!, inColumn, out!, times!, errors!];

export default function QueuesPage() {
  const { find, sort: sortText } = useSearch({ from: "/queues" });
  const sort = readSort(sortText);
  const navigate = useNavigate({ from: "/queues" });
  const { data, error, refetch } = useQuery(queuesQuery);
  const report = useQuery(figuresQuery({ seconds: 3600 }));
  const figures = useMemo(() => new Map(report.data?.queues.map((one) => [one.queue, one])), [report.data]);
  const wanted = useQuery(scalingQuery).data;
  const columns = useMemo(() => [...COLUMNS, workersColumn(wanted ? new Map(wanted.queues.map((one) => [one.queue, one])) : null)], [wanted]);
  const rows: QueueRow[] = useMemo(
    () => (data?.queues ?? []).filter((one) => !find || one.queue.toLowerCase().includes(find.toLowerCase())).map((queue) => ({ queue, history: queue.flow.history, figures: figures.get(queue.queue) })),
    [data, find, figures],
  );
  return (
    <Page title={W.title} actions={<SearchField label={W.filter} value={find ?? ""} onChange={(next) => void navigate({ search: (search) => ({ ...search, find: next || undefined }), replace: true })} />}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={12} />)
          : rows.length === 0 ? <Empty title={data.queues.length ? words.events.nothingFiltered : W.nothing}>{data.queues.length ? undefined : W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sort={sort} onSort={(next) => void navigate({ search: (search) => ({ ...search, sort: next }), replace: true })} sections={[{ key: "all", rows: sorted(rows, columns, sort) }]} rowKey={(row) => row.queue.queue} onOpen={(row) => void navigate({ to: "/queues/$name", params: { name: row.queue.queue } })} />}
      </Panel>
    </Page>
  );
}
