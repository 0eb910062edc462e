// Messages: all filters together, in the address; a bounded look that says how far it looked, and goes on.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { BulkDialog } from "../acts/bulk-dialog";
import type { Choice, Verb } from "../acts/requests";
import { get } from "../api/client";
import { keys } from "../api/keys";
import { queues as queuesQuery, tasks as tasksQuery } from "../api/queries";
import type { ListedMessage, MessagePage } from "../api/schema";
import { inputTime, moment } from "../format/moment";
import { count } from "../format/number";
import { serverNow } from "../live/clock";
import { messageColumns } from "../messages/message-columns";
import { cancelSelection, CANCELLABLE, deadSelection, ENDED, hasFilter, OPEN, paramsOf, statesOf, toggled, type MessageSearch } from "../messages/message-search";
import { DataTable } from "../parts/data-table";
import { FilterChip } from "../parts/filter-chip";
import { Page, Panel } from "../parts/page";
import { SearchField } from "../parts/search-field";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { Select } from "../parts/select";
import { StateWord, type StateName } from "../parts/state-word";
import { useActs } from "../shell/session";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.messages;
const PAGE = 100;
/** Empty pages are read on by themselves, so often; then a person decides. */
const LOOKS_ON = 3;

export default function MessagesPage() {
  const search = useSearch({ from: "/messages" });
  const navigate = useNavigate({ from: "/messages" });
  const set = (change: Partial<MessageSearch>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asks, setAsks] = useState<{ verb: Verb; choice: Choice; what?: string } | null>(null);
  const { open, openId } = useOpenMessage();
  const filters = JSON.stringify([statesOf(search), search.queue, search.task, search.client, search.key, search.text, search.since, search.until, search.last]);
  const found = useInfiniteQuery({
    queryKey: [...keys.messages, filters],
    queryFn: ({ pageParam, signal }) => get<MessagePage>("/messages", { ...paramsOf(search, serverNow()), limit: PAGE, after: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.after ?? undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= 1 ? 10_000 : false),
    maxPages: 200,
  });
  const pages = found.data?.pages ?? [];
  const rows = useMemo(() => unique(pages.flatMap((page) => page.messages)), [pages]);
  useEffect(() => setChosen(new Set()), [filters]);
  useEffect(() => {
    if (found.hasNextPage && !found.isFetching && rows.length === 0 && pages.length < LOOKS_ON) void found.fetchNextPage();
  }, [found, rows.length, pages.length]);
  const last = pages[pages.length - 1];
  const isEnded = statesOf(search).some((one) => (ENDED as readonly string[]).includes(one));
  const picked = rows.filter((row) => chosen.has(row.id));

  return (
    <Page title={W.title}>
      <Filters search={search} set={set} />
      <div className="flex min-h-7 flex-wrap items-center gap-x-4 gap-y-1.5">
        <BulkBar search={search} picked={picked} any={rows.length > 0} onAsk={setAsks} onClear={() => setChosen(new Set())} />
        {(last?.hidden.length ?? 0) > 0 && <span className="ml-auto text-soft">{W.hidden(last!.hidden.join(", "))}</span>}
        {(last?.paused.length ?? 0) > 0 && <span className="ml-auto text-soon-ink">{last!.paused.map((one) => W.paused(one.queue)).join(" ")}</span>}
      </div>
      <Panel label={W.title}>
        {found.isPending ? <LoadingRows rows={12} />
          : found.error && !pages.length ? <TroubleState error={found.error} retry={() => void found.refetch()} />
          : rows.length === 0 && !found.isFetchingNextPage ? <Empty title={hasFilter(search) || search.state ? W.nothing : W.nothingYet}>{found.hasNextPage ? W.nothingMore : hasFilter(search) || search.state ? undefined : W.nothingYetMore}</Empty>
          : <DataTable label={W.title} columns={messageColumns(isEnded)} sections={[{ key: "all", rows }]} rowKey={(row) => row.id} onOpen={(row) => open(row.id)} openKey={openId ?? null} chosen={chosen} onChoose={setChosen} />}
      </Panel>
      {/* Lists change by themselves; only what was asked for is told aloud. */}
      <span role="status" className="sr-only">{found.isFetchingNextPage ? W.lookingOn : pages.length > 1 ? words.words.messages(rows.length) : ""}</span>
      <p className="m-0 flex flex-wrap items-center gap-3 text-soft">
        <span>{lookedText(rows.length, pages)}</span>
        {found.hasNextPage ? <button type="button" className="button" disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>{found.isFetchingNextPage ? W.lookingOn : W.more}</button> : rows.length > 0 && <span>{W.end}</span>}
      </p>
      {asks && <BulkDialog verb={asks.verb} choice={asks.choice} what={asks.what} onClose={(changed) => { setAsks(null); if (changed) setChosen(new Set()); }} />}
    </Page>
  );
}

/** What moves between pages may be seen twice. */
function unique(rows: readonly ListedMessage[]): ListedMessage[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

function lookedText(shown: number, pages: readonly MessagePage[]): string {
  if (!pages.length) return "";
  const known = pages.filter((page) => page.looked_at !== null);
  const looked = known.reduce((sum, page) => sum + (page.looked_at ?? 0), 0);
  const until = pages[pages.length - 1]!.looked_until;
  const parts = [words.words.messages(shown)];
  if (known.length && looked > shown) parts.push(W.looked(count(looked)));
  if (until !== null && pages[pages.length - 1]!.more) parts.push(W.until(moment(until, serverNow())));
  return parts.join(" · ");
}

function Filters({ search, set }: { search: MessageSearch; set: (change: Partial<MessageSearch>) => void }) {
  const queues = useQuery(queuesQuery);
  const tasks = useQuery(tasksQuery);
  const shown = search.state ? statesOf(search) : [];
  const names = useMemo(() => queues.data?.queues.map((one) => one.queue) ?? [], [queues.data]);
  const taskNames = useMemo(() => [...new Set(tasks.data?.tasks.map((one) => one.task))].sort(), [tasks.data]);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField wide label={W.search} value={search.text ?? ""} onChange={(text) => set({ text: text || undefined })} />
        <Select aria-label={W.time} value={search.last ?? ""} onChange={(event) => set({ last: Number(event.target.value) || undefined, since: undefined, until: undefined })}>
          {Object.entries(W.times).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
        </Select>
      </div>
      <div className="flex flex-wrap items-center gap-1.5">
        <div role="group" aria-label={W.states} className="flex flex-wrap gap-1.5">
          {[...OPEN, ...ENDED].map((state) => (
            <button key={state} type="button" className="chip" aria-pressed={shown.includes(state)} onClick={() => set({ state: toggled(search, state) })}><StateWord calm state={state as StateName} /></button>
          ))}
        </div>
        <span className="mx-1 h-4 w-px bg-line max-lg:hidden" aria-hidden="true" />
        {(search.queue ?? []).map((one) => <FilterChip key={one} name={W.filters["queue"]!} value={one} options={names} onChange={(next) => set({ queue: without(search.queue, one, next) })} />)}
        <FilterChip isAdded name={W.filters["queue"]!} value={undefined} options={names} onChange={(next) => next && set({ queue: [...new Set([...(search.queue ?? []), next])] })} />
        <FilterChip isAdded={!search.task} name={W.filters["task"]!} value={search.task} options={taskNames} onChange={(task) => set({ task })} />
        <FilterChip isAdded={!search.client} name={W.filters["client"]!} value={search.client} onChange={(client) => set({ client })} />
        <FilterChip isAdded={!search.key} name={W.filters["key"]!} value={search.key} onChange={(key) => set({ key })} />
        {(search.since !== undefined || search.until !== undefined) && (
          <>
            <TimeField name={W.filters["since"]!} value={search.since} onChange={(since) => set({ since })} />
            <TimeField name={W.filters["until"]!} value={search.until} onChange={(until) => set({ until })} />
          </>
        )}
        {search.since === undefined && search.until === undefined && search.last === undefined && <button type="button" className="chip add" onClick={() => set({ since: Math.floor(serverNow() / 60) * 60 - 3600 })}>+ {W.filters["since"]}</button>}
      </div>
    </div>
  );
}

function without(all: readonly string[] | undefined, one: string, next: string | undefined): string[] | undefined {
  const left = (all ?? []).flatMap((other) => (other !== one ? [other] : next ? [next] : []));
  return left.length ? [...new Set(left)] : undefined;
}

function TimeField({ name, value, onChange }: { name: string; value: number | undefined; onChange: (value: number | undefined) => void }) {
  return (
    <label className="chip py-0!">
      {name}
      <input type="datetime-local" className="border-0 bg-transparent text-[12px] text-ink" value={value === undefined ? "" : inputTime(value)} onChange={(event) => onChange(event.target.value ? new Date(event.target.value).getTime() / 1000 : undefined)} />
    </label>
  );
}

/** Acts on what is chosen, or on all that match. */
function BulkBar({ search, picked, any, onAsk, onClear }: { search: MessageSearch; picked: readonly ListedMessage[]; any: boolean; onAsk: (asks: { verb: Verb; choice: Choice; what?: string }) => void; onClear: () => void }) {
  const { may, why } = useActs();
  const now = serverNow();
  const cancel = cancelSelection(search, now);
  const dead = deadSelection(search, now);
  const what = Object.entries({ state: search.state ? statesOf(search).join(", ") : undefined, queue: search.queue?.join(", "), task: search.task, client: search.client, key: search.key, text: search.text }).filter(([, value]) => value).map(([name, value]) => `${name}: ${value}`).join("  ");
  const ofIds = (rows: readonly ListedMessage[]): Choice => ({ ids: rows.map((row) => row.id) });
  const open = picked.filter((row) => CANCELLABLE.includes(row.state));
  const isDead = picked.filter((row) => row.state === "dead");
  const button = (label: string, act: () => void) => <button type="button" className="button" disabled={!may} title={why} onClick={act}>{label}</button>;
  if (picked.length) {
    return (
      <div className="flex flex-wrap items-center gap-1.5" role="status">
        <b className="mr-1 font-semibold">{words.words.selected(picked.length)}</b>
        {open.length > 0 && button(W.bulkCancel, () => onAsk({ verb: "cancel", choice: ofIds(open) }))}
        {isDead.length > 0 && button(W.bulkRedrive, () => onAsk({ verb: "redrive", choice: ofIds(isDead) }))}
        {isDead.length > 0 && button(W.bulkDelete, () => onAsk({ verb: "delete", choice: ofIds(isDead) }))}
        <button type="button" className="button quiet" onClick={onClear}>{words.words.clear}</button>
      </div>
    );
  }
  if (!any || !(cancel || dead) || statesOf(search).some((one) => (ENDED as readonly string[]).includes(one))) return null;
  const states = statesOf(search);
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      <span className="mr-1 text-soft">{W.bulk}</span>
      {cancel && states.some((one) => CANCELLABLE.includes(one)) && button(W.bulkCancel, () => onAsk({ verb: "cancel", choice: { query: cancel }, what }))}
      {dead && search.state && button(W.bulkRedrive, () => onAsk({ verb: "redrive", choice: { query: dead }, what }))}
      {dead && search.state && button(W.bulkDelete, () => onAsk({ verb: "delete", choice: { query: dead }, what }))}
    </div>
  );
}
