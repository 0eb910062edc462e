// The dashboard: begins here.
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { firstData } from "./api/first-data";
import { queryClient } from "./api/query-client";
import { router } from "./router";
import { SessionGate } from "./shell/session";
import "./styles.css";

/** A server that is slower than this has its page drawn empty first. */
const FIRST_DRAW_MS = 300;

function draw(): void {
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <SessionGate>
          <RouterProvider router={router} />
        </SessionGate>
      </QueryClientProvider>
    </StrictMode>,
  );
}

// The page's own file and its data are fetched side by side.
void Promise.race([Promise.all([router.load(), firstData()]), new Promise((late) => setTimeout(late, FIRST_DRAW_MS))]).finally(draw);
