// The columns of a client in a list.
import type { ClientStatus } from "../api/schema";
import { roughly } from "../format/duration";
import { count, rate, share } from "../format/number";
import type { Column } from "../parts/data-table";
import { StateWord } from "../parts/state-word";
import { Gauge } from "../parts/tick";
import { errors } from "../queues/queue-columns";
import { words } from "../words";
import { isFull, moodOf, quotaText, useOf } from "./quota-text";

const C = words.columns;
const W = words.clients;

export const waitingOf = (row: ClientStatus) => (row.waiting === null || row.delayed === null ? null : row.waiting + row.delayed);
const guess = (row: ClientStatus, value: number | null) => count(value, row.estimated && value !== null && value > 0);

export const clientColumns: readonly Column<ClientStatus>[] = [
  {
    key: "client", title: C.client, sortBy: (row) => row.client, cell: (row) => (
      <span className="flex items-center gap-2">
        <b className="min-w-0 truncate font-[550]">{row.client}</b>
        {row.paused && <><span className="@max-[520px]:hidden"><StateWord state="paused" /></span><span className="hidden @max-[520px]:inline"><StateWord bare state="paused" /></span></>}
        {isFull(row.quota) && <span title={W.fullTitle}><StateWord state="late" label={W.full} /></span>}
      </span>
    ),
  },
  { key: "waiting", title: C.waiting, width: "76px", isNumber: true, sortBy: waitingOf, cell: (row) => guess(row, waitingOf(row)) },
  { key: "running", title: C.running, width: "76px", isNumber: true, sortBy: (row) => row.running, cell: (row) => guess(row, row.running) },
  { key: "dead", title: C.dead, width: "60px", isNumber: true, from: "sm", sortBy: (row) => row.dead, cell: (row) => <span className={row.dead ? "font-[550] text-dead" : ""}>{count(row.dead)}</span> },
  { key: "oldest", title: C.oldest, width: "68px", isNumber: true, from: "sm", sortBy: (row) => row.oldest_age_seconds, cell: (row) => (row.oldest_age_seconds === null ? (row.waiting === 0 ? "" : words.unknown) : roughly(row.oldest_age_seconds)) },
  { key: "in", title: C.in, width: "64px", isNumber: true, from: "lg", sortBy: (row) => row.in_per_second, cell: (row) => rate(row.in_per_second) },
  { key: "out", title: C.out, width: "68px", isNumber: true, from: "md", sortBy: (row) => row.out_per_second, cell: (row) => rate(row.out_per_second) },
  { key: "errors", title: C.errors, width: "68px", isNumber: true, from: "md", sortBy: (row) => row.error_share, cell: (row) => errors(row.error_share) },
  { key: "work", title: W.work, width: "148px", from: "md", hint: W.workHint, sortBy: (row) => row.work_share, cell: (row) => <Work row={row} /> },
  { key: "quota", title: W.quota, width: "22%", from: "lg", sortBy: (row) => useOf(row.quota), cell: (row) => <Quota row={row} /> },
];

function Work({ row: { work_share, weight } }: { row: ClientStatus }) {
  const part = work_share === null
    ? <span className="text-faint">{words.unknown}</span>
    : <><Gauge thin part={work_share} kind="calm" className="w-14" label={`${W.work} ${share(work_share)}`} /><span className="number text-soft">{share(work_share)}</span></>;
  return <span className="flex items-center gap-2">{part}{weight !== 1 && <span className="number text-soft" title={W.weightHint(weight)}>×{weight}</span>}</span>;
}

function Quota({ row: { quota } }: { row: ClientStatus }) {
  if (!quota) return <span className="text-faint">{W.noQuota}</span>;
  const use = useOf(quota);
  return (
    <span className="flex items-center gap-2" title={quotaText(quota)}>
      {use !== null && <Gauge thin part={use} kind={moodOf(use)} className="w-14 flex-none" label={W.used(share(use))} />}
      <span className="min-w-0 truncate text-soft">{quotaText(quota)}</span>
    </span>
  );
}
