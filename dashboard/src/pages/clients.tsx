// Clients: who uses this installation, how much, and what each may use.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { troubleOf } from "../api/problem";
import { clients as clientsQuery } from "../api/queries";
import { clientColumns } from "../clients/client-columns";
import { DataTable } from "../parts/data-table";
import { Page, Panel } from "../parts/page";
import { SearchField } from "../parts/search-field";
import { readSort, sorted } from "../parts/sorting";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { words } from "../words";

const W = words.clients;

export default function ClientsPage() {
  const { find, sort: sortText } = useSearch({ from: "/clients" });
  const sort = readSort(sortText);
  const navigate = useNavigate({ from: "/clients" });
  const { data, error, refetch } = useQuery(clientsQuery);
  const rows = (data?.clients ?? []).filter((one) => !find || one.client.includes(find.toLowerCase()));
  const isOlder = !data && error !== null && troubleOf(error) === "older";
  return (
    <Page title={W.title} actions={!isOlder && <SearchField label={W.filter} value={find ?? ""} onChange={(next) => void navigate({ search: (search) => ({ ...search, find: next || undefined }), replace: true })} />}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={8} />)
          : rows.length === 0 ? (data.clients.length ? <Empty title={W.nothingFiltered} /> : <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty>)
          : <DataTable label={W.title} columns={clientColumns} sort={sort} onSort={(next) => void navigate({ search: (search) => ({ ...search, sort: next }), replace: true })} sections={[{ key: "all", rows: sorted(rows, clientColumns, sort) }]} rowKey={(row) => row.client} onOpen={(row) => void navigate({ to: "/clients/$name", params: { name: row.client } })} />}
      </Panel>
    </Page>
  );
}
