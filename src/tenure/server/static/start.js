// Before the program is here: ask for what the first page shows, so that data and code are on their way together.
// The program takes the answers (src/api/early.ts), and asks again for what failed. Without a session nothing else is asked.
{
  const { base = "" } = JSON.parse(document.querySelector('meta[name="tenure-config"]').content);
  const [first = "overview", second] = location.pathname.slice(base.length).split("/").filter(Boolean);
  const page = (second && { queues: "queue", messages: "message", groups: "group" }[first]) ?? first;
  const code = document.createElement("link");
  Object.assign(code, { rel: "modulepreload", crossOrigin: "", href: `${base}/assets/${page}.js` });
  document.head.append(code);
  const ask = (path) => fetch(`${base}/api/v1${path}`, { headers: { Accept: "application/json" }, credentials: "same-origin", signal: AbortSignal.timeout(30_000) });
  const session = ask("/session");
  const early = { "/session": session };
  const shown = {
    overview: ["/figures?seconds=3600&step=60", "/dead/groups", "/workers?limit=1000", "/snapshots/queues"],
    queues: ["/snapshots/queues"],
    leases: ["/snapshots/leases"],
  };
  for (const path of ["/snapshots/overview", ...(location.search ? [] : (shown[page] ?? []))]) {
    early[path] = session.then((answer) => (answer.ok ? ask(path) : undefined));
  }
  for (const answer of Object.values(early)) answer.catch(() => undefined);
  globalThis.tenureEarly = early;
}
