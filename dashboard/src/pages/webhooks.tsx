// Webhooks: the endpoints that get the ends of messages, how each answers, and what was delivered to them.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { troubleOf } from "../api/problem";
import { webhookEndpoints } from "../api/queries";
import { DataTable } from "../parts/data-table";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { useActs, useSession } from "../shell/session";
import { Deliveries } from "../webhooks/deliveries";
import { endpointColumns } from "../webhooks/endpoint-columns";
import { EndpointDialog } from "../webhooks/endpoint-dialog";
import { OneEndpoint } from "../webhooks/one-endpoint";
import { useDeliveries } from "../webhooks/use-deliveries";
import { words } from "../words";

const W = words.webhooks;

export default function WebhooksPage() {
  const { endpoint, show = "waiting" } = useSearch({ from: "/webhooks" });
  const navigate = useNavigate({ from: "/webhooks" });
  const set = (change: { endpoint?: string; show?: "failed" | "done" }) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const [isAdding, setAdding] = useState(false);
  const { data, error, refetch } = useQuery(webhookEndpoints);
  const deliveries = useDeliveries(show, endpoint);
  const { may, why } = useActs("admin");
  const { queues } = useSession();
  const columns = useMemo(() => endpointColumns(deliveries.waiting), [deliveries.waiting]);
  const chosen = data?.endpoints.find((one) => one.name === endpoint);
  const isOlder = !data && error !== null && troubleOf(error) === "older";
  return (
    <Page title={W.title} actions={!isOlder && <button type="button" className="button" disabled={!may} title={why} onClick={() => setAdding(true)}>{W.add}</button>}>
      <Panel title={isOlder ? undefined : W.endpoints} label={W.endpoints}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={3} />)
          : data.endpoints.length === 0 ? (queues.includes("*") ? <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty> : <Empty title={W.nothing}>{W.nothingSeen}</Empty>)
          : <DataTable label={W.endpoints} columns={columns} sections={[{ key: "all", rows: data.endpoints }]} rowKey={(row) => row.name} onOpen={(row) => set({ endpoint: row.name === endpoint ? undefined : row.name })} openKey={endpoint ?? null} />}
      </Panel>
      {chosen && <OneEndpoint key={chosen.name} endpoint={chosen} waiting={deliveries.waiting && (deliveries.waiting[chosen.name] ?? 0)} />}
      {!isOlder && <Deliveries show={show} endpoint={endpoint} names={data?.endpoints.map((one) => one.name) ?? []} deliveries={deliveries} onShow={(next) => set({ show: next === "waiting" ? undefined : next })} onEndpoint={(next) => set({ endpoint: next })} />}
      {isAdding && <EndpointDialog onClose={() => setAdding(false)} onAdded={(name) => set({ endpoint: name })} />}
    </Page>
  );
}
