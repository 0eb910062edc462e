// One client: its numbers, its quota, what came in and went out, its tasks.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { client as clientQuery, figures as figuresQuery, tasks as tasksQuery } from "../api/queries";
import type { ClientDetail } from "../api/schema";
import { ClientActs } from "../clients/client-acts";
import { ClientNumbers } from "../clients/client-numbers";
import { QuotaPanel } from "../clients/quota-panel";
import { isFull } from "../clients/quota-text";
import { roughly } from "../format/duration";
import { serverNow } from "../live/clock";
import { Choice } from "../parts/choice";
import { QueueLink } from "../parts/links";
import { Page, Panel } from "../parts/page";
import { LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { InOut } from "../queues/in-out";
import { TaskTable } from "../tasks/task-table";
import { words } from "../words";

const W = words.clients;
const STEPS: Record<string, number> = { "3600": 60, "21600": 300, "86400": 1200 };

export default function ClientPage() {
  const { name } = useParams({ from: "/clients/$name" });
  const { window = "3600" } = useSearch({ from: "/clients/$name" });
  const navigate = useNavigate({ from: "/clients/$name" });
  const { data, error, refetch } = useQuery(clientQuery(name));
  const heading = <span className="wrap-anywhere"><Link to="/clients" className="font-normal text-soft no-underline hover:underline">{W.title}</Link><span className="font-normal text-faint"> / </span>{name}</span>;
  const actions = data && (
    <>
      <Choice label={words.overview.window} value={window} options={Object.entries(words.overview.windows) as [typeof window, string][]} onChange={(next) => void navigate({ search: (search) => ({ ...search, window: next === "3600" ? undefined : next }), replace: true })} />
      <Link to="/messages" search={{ queue: [data.queue] }} className="button">{words.queues.messages}</Link>
      <ClientActs client={data} />
    </>
  );
  return (
    <Page title={name} heading={heading} actions={actions} aside={data && <Aside client={data} />}>
      {data ? <Whole client={data} window={window} /> : <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>}
    </Page>
  );
}

function Whole({ client, window }: { client: ClientDetail; window: string }) {
  const { data: report, isPending } = useQuery(figuresQuery({ seconds: Number(window), step: STEPS[window], queue: client.queue }));
  const tasks = useQuery(tasksQuery);
  const navigate = useNavigate();
  return (
    <>
      <ClientNumbers client={client} report={report} />
      <QuotaPanel client={client} />
      <InOut report={report} window={window} queue={client.queue} isPending={isPending} />
      <Panel title={words.queues.tasks}><TaskTable figures={report?.tasks ?? []} known={tasks.data?.tasks.filter((one) => one.queue === client.queue) ?? []} onTask={(task) => void navigate({ to: "/queues/$name", params: { name: client.queue }, search: { task } })} /></Panel>
    </>
  );
}

/** Its queue, and what holds it up. */
function Aside({ client }: { client: ClientDetail }) {
  return (
    <>
      <span className="mono text-soft"><QueueLink queue={client.queue} /></span>
      {client.paused && <StateWord state="paused" label={words.queues.pausedFor(roughly(serverNow() - client.paused.at), client.paused.by)} />}
      {isFull(client.quota) && <StateWord state="late" label={W.fullTitle} />}
    </>
  );
}
