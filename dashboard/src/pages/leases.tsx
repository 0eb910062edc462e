// Leases: the right to work on each message, who has it, and for how much longer. Overdue, late, held.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { allLeases, figures as figuresQuery, lastReturn, soonLeases, tasks as tasksQuery } from "../api/queries";
import type { HeldLease, LeasesSnapshot } from "../api/schema";
import { roughly, wholeDuration } from "../format/duration";
import { ownerName } from "../format/names";
import { count, plural } from "../format/number";
import { ordered, sectionsOf, worstOf, type LeaseSections } from "../leases/lease-order";
import { leaseColumns, type LeaseRow } from "../leases/lease-columns";
import { useEvents } from "../live/live";
import { Choice } from "../parts/choice";
import { DataTable, type Section } from "../parts/data-table";
import { FilterChip } from "../parts/filter-chip";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { TickText, useNow } from "../parts/tick";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.leases;

export default function LeasesPage() {
  const search = useSearch({ from: "/leases" });
  const navigate = useNavigate({ from: "/leases" });
  const { data: soon, error, refetch } = useQuery(soonLeases);
  const { data: all } = useQuery({ ...allLeases, enabled: soon?.is_cut ?? false });
  const data = soon?.is_cut && all ? withNewest(all, soon) : soon;
  const report = useQuery(figuresQuery({ seconds: 3600 }));
  const known = useQuery(tasksQuery);
  const { open, openId } = useOpenMessage();
  const now = useNow();
  const leases = useMemo(() => (data?.leases ?? []).filter((one) => matches(one, search)), [data, search]);
  const sections = sectionsOf(leases, now);
  const tasks = useMemo(() => new Map(report.data?.tasks.map((one) => [`${one.queue}\n${one.task}`, one])), [report.data]);
  const most = useMemo(() => new Map(known.data?.tasks.map((one) => [`${one.queue}\n${one.task}`, one.policy?.max_attempts ?? null])), [known.data]);
  const rowOf = (lease: HeldLease): LeaseRow => {
    const name = `${lease.queue}\n${lease.task}`;
    return { lease, figures: tasks.get(name), most: most.get(name) ?? null };
  };
  const shown: Section<LeaseRow>[] = search.by === "worker" ? byWorker(leases, now).map((one) => ({ ...one, rows: one.rows.map(rowOf) })) : byState(sections, data).map((one) => ({ ...one, rows: one.rows.map(rowOf) }));
  const set = (change: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const options = (of: (lease: HeldLease) => string | null) => [...new Set(data?.leases.map(of).filter((one) => one !== null))].sort().slice(0, 200);
  return (
    <Page title={W.title} actions={<Choice label={W.group} value={search.by ?? "state"} options={[["state", W.byState], ["worker", W.byWorker]]} onChange={(by) => set({ by: by === "worker" ? by : undefined })} />}>
      <Strip data={data} sections={sections} filtered={leases.length !== (data?.leases.length ?? 0)} />
      <div className="flex flex-wrap gap-1.5">
        <FilterChip name={words.columns.queue} value={search.queue} options={options((one) => one.queue)} onChange={(queue) => set({ queue })} />
        <FilterChip name={words.columns.task} value={search.task} options={options((one) => one.task)} onChange={(task) => set({ task })} />
        <FilterChip name={words.columns.worker} value={search.worker} options={options((one) => ownerName(one.owner))} onChange={(worker) => set({ worker })} />
      </div>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={12} />)
          : leases.length === 0 ? <Empty title={data.leases.length ? W.nothingFiltered : W.nothing}>{data.leases.length ? undefined : W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={leaseColumns} sections={shown} rowKey={(row) => row.lease.id} onOpen={(row) => open(row.lease.id)} openKey={openId ?? null} />}
      </Panel>
      {data?.is_cut && !all && <p className="m-0 text-soft">{W.cut(count(data.leases.length))}</p>}
    </Page>
  );
}

/** The whole list is read every few seconds; those that end soonest come each second. */
function withNewest(all: LeasesSnapshot, soon: LeasesSnapshot): LeasesSnapshot {
  const rows = new Map(all.leases.map((one) => [one.id, one]));
  for (const one of soon.leases) rows.set(one.id, one);
  return { ...soon, leases: [...rows.values()], is_cut: all.is_cut };
}

function matches(lease: HeldLease, search: { queue?: string; task?: string; worker?: string }): boolean {
  return (!search.queue || lease.queue === search.queue) && (!search.task || lease.task === search.task) && (!search.worker || ownerName(lease.owner) === search.worker || lease.owner === search.worker);
}

function byState({ overdue, late, held }: LeaseSections, data: LeasesSnapshot | undefined): Section<HeldLease>[] {
  const sweeps = (now: number) => (data?.next_sweep_at === null || data?.next_sweep_at === undefined ? W.noSweep : data.next_sweep_at > now ? W.sweepTakes(`${Math.ceil(data.next_sweep_at - now)} s`) : W.sweepTakesNow);
  const all: Section<HeldLease>[] = [
    { key: "overdue", kind: "bad", title: <>{W.sectionOverdue} {count(overdue.length)} — <TickText of={sweeps} /></>, rows: overdue },
    { key: "late", kind: "soon", title: <>{W.sectionLate} {count(late.length)}</>, rows: late },
    { key: "held", title: <>{W.sectionHeld} {count(held.length)}</>, rows: held },
  ];
  return all.filter((one) => one.rows.length);
}

function byWorker(leases: readonly HeldLease[], now: number): Section<HeldLease>[] {
  const workers = new Map<string, HeldLease[]>();
  for (const one of leases) workers.set(one.owner, [...(workers.get(one.owner) ?? []), one]);
  return [...workers].sort(([one], [other]) => (one < other ? -1 : 1)).map(([owner, rows]) => {
    const worst = worstOf(rows, now);
    return { key: owner, kind: worst === "overdue" ? "bad" : worst === "late" ? "soon" : "", title: <span><span className="mono">{owner}</span> {count(rows.length)}</span>, rows: ordered(rows) };
  });
}

function Strip({ data, sections, filtered }: { data: LeasesSnapshot | undefined; sections: LeaseSections; filtered: boolean }) {
  const events = useEvents();
  const before = useQuery(lastReturn).data;
  const fresh = events.find((one) => one.type === "requeue" || one.type === "move_to_dlq");
  const last = fresh ?? before;
  const returned = Number((fresh?.payload ?? before?.data)?.["count"] ?? 0);
  const item = (number: number, word: string, hue = "") => <span className={number && hue ? hue : ""}><b className={`font-semibold tabular-nums ${number && hue ? hue : "text-ink"}`}>{data ? count(number) : words.loading}</b> {word}</span>;
  const sweep = (now: number) => (!data ? words.loading : data.next_sweep_at === null ? words.unknown : `${Math.max(0, Math.ceil(data.next_sweep_at - now))} s`);
  return (
    <section aria-label={W.strip} className="panel @container px-4 py-2.5 text-soft"><div className="flex flex-wrap gap-x-5.5 gap-y-1">
      {item(sections.held.length + sections.late.length + sections.overdue.length, W.held)}
      {item(sections.late.length, W.late, "text-soon-ink")}
      {item(sections.overdue.length, W.overdue, "text-dead")}
      <span>{W.nextSweep} <b className="inline-block min-w-6 font-semibold text-ink tabular-nums"><TickText of={sweep} /></b></span>
      <span>{last ? <>{W.lastReturn} <b className="font-semibold text-ink tabular-nums"><TickText of={(now) => words.words.ago(roughly(now - last.at))} /></b>{returned ? `, ${plural(returned, "message")}` : ""}</> : data?.last_sweep_at ? <>{W.lastSweep} <b className="font-semibold text-ink tabular-nums"><TickText of={(now) => words.words.ago(wholeDuration(Math.max(0, now - data.last_sweep_at!)))} /></b></> : W.noReturn}</span>
      <span className="ml-auto @max-3xl:hidden">{filtered ? words.words.filter : W.clock}</span>
    </div></section>
  );
}

