// Deliveries: what waits, what failed, what arrived; replay of what failed.
import { useEffect, useMemo, useState } from "react";
import { BulkDialog } from "../acts/bulk-dialog";
import type { Choice as Chosen } from "../acts/requests";
import { Choice } from "../parts/choice";
import { DataTable } from "../parts/data-table";
import { FilterChip } from "../parts/filter-chip";
import { Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { useActs, useMay } from "../shell/session";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";
import { deliveryColumns } from "./delivery-columns";
import type { Show, useDeliveries } from "./use-deliveries";

const W = words.webhooks;
const SHOWS: readonly Show[] = ["waiting", "failed", "done"];
/** The server counts so many; there may be more. */
const MOST_COUNTED = 10_000;
const NOTHING: Record<Show, readonly [string, string]> = { waiting: [W.noneWaiting, W.noneWaitingMore], failed: [W.noneFailed, W.noneFailedMore], done: [W.noneDone, ""] };

export function Deliveries({ show, endpoint, names, deliveries: { found, rows, waiting }, onShow, onEndpoint }: {
  show: Show;
  endpoint: string | undefined;
  names: readonly string[];
  deliveries: ReturnType<typeof useDeliveries>;
  onShow: (show: Show) => void;
  onEndpoint: (endpoint: string | undefined) => void;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asks, setAsks] = useState<{ choice: Chosen; what?: string } | null>(null);
  useEffect(() => setChosen(new Set()), [show, endpoint]);
  const { may, why } = useActs();
  const isHidden = !useMay("payload");
  const { open, openId } = useOpenMessage();
  const columns = useMemo(() => deliveryColumns(show, isHidden), [show, isHidden]);
  const picked = show === "failed" ? rows.filter((row) => chosen.has(row.id)) : [];
  const replay = (label: string, choice: Chosen, what?: string) => <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks({ choice, what })}>{label}</button>;
  return (
    <Panel
      title={W.deliveries}
      actions={
        <>
          {picked.length > 0 && <b className="font-semibold" role="status">{W.selected(picked.length)}</b>}
          {picked.length > 0 && replay(W.replay, { ids: picked.map((row) => row.id) })}
          {picked.length > 0 && <button type="button" className="button quiet" onClick={() => setChosen(new Set())}>{words.words.clear}</button>}
          {show === "failed" && rows.length > 0 && !picked.length && replay(W.replayAll, { query: endpoint ? { endpoint } : {} }, endpoint ? W.ofEndpoint(endpoint) : W.everyEndpoint)}
          <FilterChip name={W.endpoint} value={endpoint} options={names} onChange={onEndpoint} />
          <Choice label={W.show} value={show} options={SHOWS.map((one) => [one, W.shows[one]] as const)} onChange={onShow} />
        </>
      }
    >
      <EndingsWait waiting={waiting} onEndpoint={onEndpoint} />
      {found.isPending ? <LoadingRows />
        : found.error && !rows.length ? <TroubleState error={found.error} retry={() => void found.refetch()} />
        : rows.length === 0 && !found.hasNextPage ? <Empty title={NOTHING[show][0]}>{NOTHING[show][1] || undefined}</Empty>
        : (
          <DataTable
            label={W.deliveries} columns={columns} sections={[{ key: "all", rows }]} rowKey={(row) => row.id} onOpen={(row) => open(row.id)} openKey={openId ?? null}
            chosen={show === "failed" ? chosen : undefined} onChoose={show === "failed" ? setChosen : undefined}
            foot={found.hasNextPage && <div className="border-t border-line-soft px-4 py-2"><button type="button" className="button" disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>{W.more}</button></div>}
          />
        )}
      {asks && <BulkDialog verb="replay" choice={asks.choice} what={asks.what} onClose={(changed) => { setAsks(null); if (changed) setChosen(new Set()); }} />}
    </Panel>
  );
}

/** Endings that are no deliveries yet, by the endpoint that they ask for; also by one that is gone. */
function EndingsWait({ waiting, onEndpoint }: { waiting: Record<string, number> | undefined; onEndpoint: (endpoint: string) => void }) {
  const all = Object.entries(waiting ?? {});
  if (!all.length) return null;
  const isCut = all.reduce((sum, [, number]) => sum + number, 0) >= MOST_COUNTED;
  return (
    <p className="m-0 flex flex-wrap items-baseline gap-x-3 gap-y-0.5 border-b border-line-soft px-[14px] py-2 text-soft">
      <span>{W.endingsWait}</span>
      {all.map(([name, number]) => (
        <button key={name} type="button" className="min-w-0 truncate hover:underline" onClick={() => onEndpoint(name)}>{name} <b className="font-semibold text-ink tabular-nums">{isCut ? W.atLeast : ""}{W.endings(number)}</b></button>
      ))}
    </p>
  );
}
