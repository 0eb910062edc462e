// System: the settings in force and where each came from, who did what, and who you are.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { logOut } from "../acts/requests";
import { get } from "../api/client";
import { keys } from "../api/keys";
import { settings as settingsQuery } from "../api/queries";
import { queryClient } from "../api/query-client";
import type { ActEntry, ActList, SettingInForce } from "../api/schema";
import { duration } from "../format/duration";
import { plural } from "../format/number";
import { DataTable, type Column } from "../parts/data-table";
import { Fact, Facts, Page, Panel } from "../parts/page";
import { SearchField } from "../parts/search-field";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { When } from "../parts/when";
import { useMay, useSession } from "../shell/session";
import { words } from "../words";

const W = words.system;
const C = words.columns;
const ACTS = 50;

const actColumns: readonly Column<ActEntry>[] = [
  { key: "at", title: C.at, width: "116px", cell: (row) => <span className="text-soft tabular-nums"><When at={row.at} /></span> },
  { key: "kind", title: C.act, width: "136px", cell: (row) => <b className="font-[550]">{words.events.act[row.kind] ?? words.events.kind[row.kind] ?? row.kind.replaceAll("_", " ")}</b> },
  { key: "count", title: C.on, width: "28%", from: "sm", cell: (row) => <span title={row.ids.join("\n")}>{row.count ? plural(row.count, "message") : ""} <span className="text-soft">{row.queue ?? String(row.data["schedule"] ?? row.data["worker"] ?? row.data["endpoint"] ?? "")}</span></span> },
  { key: "who", title: C.who, cell: (row) => row.by || words.unknown },
  { key: "whence", title: C.whence, width: "22%", from: "md", cell: (row) => <span className="text-soft">{row.triggered_by}{row.source ? ` · ${row.source}` : ""}</span> },
];

const settingColumns: readonly Column<SettingInForce>[] = [
  { key: "name", title: C.name, cell: (row) => <span className="mono" title={row.allowed}>{row.name}</span> },
  { key: "value", title: C.value, width: "31%", cell: (row) => <span className="mono" title={String(row.value)}>{row.value === null ? <span className="text-faint">{words.words.none}</span> : String(row.value)}{inWords(row) && <span className="text-soft"> · {inWords(row)}</span>}</span> },
  { key: "source", title: C.source, width: "120px", from: "sm", cell: (row) => <span className={row.source === "default" ? "text-faint" : "font-[550]"}>{row.source}</span> },
  { key: "variable", title: C.variable, width: "27%", from: "md", cell: (row) => <span className="mono text-soft">{row.variable}</span> },
];

/** Seconds as people read them. Empty: it is no span, or short enough to be read. */
function inWords({ name, value }: SettingInForce): string {
  return name.endsWith("_seconds") && typeof value === "number" && value >= 120 ? duration(value) : "";
}

export default function SystemPage() {
  return (
    <Page title={W.title}>
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_320px]">
        <div className="flex min-w-0 flex-col gap-4"><Acts /><Settings /></div>
        <About />
      </div>
    </Page>
  );
}

function Acts() {
  const found = useInfiniteQuery({
    queryKey: [...keys.acts, "list"],
    queryFn: ({ pageParam, signal }) => get<ActList>("/acts", { limit: ACTS, before: pageParam || undefined }, signal),
    initialPageParam: 0,
    getNextPageParam: (page) => page.before ?? undefined,
    maxPages: 40,
  });
  const rows = found.data?.pages.flatMap((page) => page.acts) ?? [];
  return (
    <Panel title={W.acts} aside={W.actsAside}>
      {found.isPending ? <LoadingRows rows={5} />
        : found.error ? <TroubleState error={found.error} retry={() => void found.refetch()} />
        : rows.length === 0 ? <Empty title={W.actsNone}>{W.actsNoneMore}</Empty>
        : <DataTable label={W.acts} columns={actColumns} sections={[{ key: "all", rows }]} rowKey={(row) => String(row.seq)} foot={found.hasNextPage && <div className="border-t border-line-soft px-4 py-2"><button type="button" className="button" disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>{W.older}</button></div>} />}
    </Panel>
  );
}

function Settings() {
  const { find, set } = useSearch({ from: "/system" });
  const navigate = useNavigate({ from: "/system" });
  const may = useMay("admin");
  const { data, error, refetch } = useQuery({ ...settingsQuery, enabled: may });
  const rows = (data?.settings ?? []).filter((one) => (!set || one.source !== "default") && (!find || `${one.name} ${one.variable ?? ""}`.toLowerCase().includes(find.toLowerCase())));
  return (
    <Panel
      title={W.settings}
      actions={may && (
        <>
          <button type="button" className="chip" aria-pressed={set ?? false} onClick={() => void navigate({ search: (search) => ({ ...search, set: set ? undefined : true }), replace: true })}>{W.changed}</button>
          <SearchField label={W.filterSettings} value={find ?? ""} onChange={(next) => void navigate({ search: (search) => ({ ...search, find: next || undefined }), replace: true })} />
        </>
      )}
    >
      {!may ? <p className="m-0 px-4 py-4 text-soft">{W.needsAdmin}</p>
        : !data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
        : rows.length === 0 ? <Empty title={words.events.nothingFiltered} />
        : <DataTable label={W.settings} columns={settingColumns} sections={[{ key: "all", rows }]} rowKey={(row) => row.name} />}
    </Panel>
  );
}

function About() {
  const session = useSession();
  const isLoggedIn = session.name !== "loopback";
  return (
    <Panel title={W.about}>
      <Facts>
        <Fact name={W.version}>{session.version || W.storeSaid}</Fact>
        <Fact name={W.store}><span title={session.store}>{session.store || W.storeSaid}</span></Fact>
        <Fact name={W.you}>{session.name}</Fact>
        <Fact name={W.scopes}><span className="whitespace-normal">{session.scopes.join(", ") || words.states_.noScopes}</span></Fact>
        <Fact name={W.queues}>{session.queues.join(", ") || words.words.none}</Fact>
      </Facts>
      {session.read_only && <p className="m-0 px-4 py-2 text-soft">{words.acts.readOnly}</p>}
      {isLoggedIn && (
        <div className="px-4 py-3">
          <button type="button" className="button" onClick={() => void logOut().finally(() => queryClient.resetQueries({ queryKey: keys.session }))}>{W.logOut}</button>
        </div>
      )}
    </Panel>
  );
}
