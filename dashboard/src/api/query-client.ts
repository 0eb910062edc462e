// The cache of all data. What is shown stays on screen while it is read anew, and when the server is away.
import { QueryClient } from "@tanstack/react-query";
import { ApiProblem } from "./problem";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: true,
      // A refusal stays one; what has no answer is asked again, more and more slowly.
      retry: (tries, error) => !(error instanceof ApiProblem && error.status < 500) && tries < 2,
      retryDelay: (tries) => Math.min(10_000, 700 * 2 ** tries),
      networkMode: "always",
      structuralSharing: true,
    },
    mutations: { networkMode: "always", retry: false },
  },
});
