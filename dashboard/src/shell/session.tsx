// Who looks: asked once; without an answer nothing else is asked. Pages learn here what they may offer.
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useEffect, type ReactNode } from "react";
import { ApiProblem, troubleOf } from "../api/problem";
import { session } from "../api/queries";
import { queryClient } from "../api/query-client";
import type { AccessScope, SessionInfo } from "../api/schema";
import { startLive } from "../live/live";
import { TroubleState } from "../parts/states";
import { words } from "../words";
import { Login } from "./login";

const SessionContext = createContext<SessionInfo | null>(null);

export function SessionGate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery({
    ...session,
    retry: false,
    // What was answered before the page was drawn is not asked again at once.
    retryOnMount: false,
    refetchInterval: (query) => (query.state.error && troubleOf(query.state.error) !== "login" ? 3000 : false),
  });
  useEffect(() => {
    if (data) startLive();
  }, [data]);
  // A token that is revoked while a page is open: the next request says so, and the login comes back.
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe((event) => {
        if (event.type !== "updated" || event.action.type !== "error" || event.query.queryKey[0] === "session") return;
        const problem = event.query.state.error;
        if (problem instanceof ApiProblem && problem.status === 401) void queryClient.resetQueries({ queryKey: session.queryKey });
      }),
    [],
  );
  if (data) return <SessionContext value={data}>{children}</SessionContext>;
  if (!error) return <div className="flex h-dvh items-center justify-center text-faint" role="status" aria-label={words.loadingLabel} />;
  if (troubleOf(error) === "login") return <Login onDone={() => void refetch()} />;
  return (
    <main className="flex min-h-dvh items-center justify-center">
      <TroubleState error={error} retry={() => void refetch()} />
    </main>
  );
}

export function useSession(): SessionInfo {
  const found = useContext(SessionContext);
  if (!found) throw new Error("no session here");
  return found;
}

export function useMay(scope: AccessScope): boolean {
  return useSession().scopes.includes(scope);
}

/** Whether acts are offered; else why not. */
export function useActs(scope: "operate" | "admin" = "operate"): { may: boolean; why: string | undefined } {
  const { scopes, read_only } = useSession();
  if (read_only) return { may: false, why: words.acts.readOnly };
  return scopes.includes(scope) ? { may: true, why: undefined } : { may: false, why: scope === "admin" ? words.acts.noAdmin : words.acts.noScope };
}
