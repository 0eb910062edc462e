// The paths. Each page is a file of its own, loaded when it is first visited; its filters are its query string.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { config } from "./api/config";
import { flag, list, number, oneOf, parseSearch, shared, stringifySearch, text, type RawSearch } from "./search";
import { NotFound, PageTrouble, Shell } from "./shell/shell";

/** Every filter may be missing. */
const partly = <Search,>(read: (search: RawSearch) => Search) => (search: RawSearch): Partial<Search> => read(search);

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: PageTrouble,
  validateSearch: (search: RawSearch) => shared(search),
});

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: partly((search) => ({ window: oneOf(search["window"], ["3600", "21600", "86400"] as const) })),
  component: lazyRouteComponent(() => import("./pages/overview")),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  validateSearch: partly((search) => ({ find: text(search["find"]), sort: text(search["sort"]) })),
  component: lazyRouteComponent(() => import("./pages/queues")),
});

const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$name",
  validateSearch: partly((search) => ({
    window: oneOf(search["window"], ["3600", "21600", "86400"] as const),
    task: text(search["task"]),
    by: oneOf(search["by"], ["hour", "day"] as const),
  })),
  component: lazyRouteComponent(() => import("./pages/queue")),
});

const clients = createRoute({
  getParentRoute: () => root,
  path: "/clients",
  validateSearch: partly((search) => ({ find: text(search["find"]), sort: text(search["sort"]) })),
  component: lazyRouteComponent(() => import("./pages/clients")),
});

const client = createRoute({
  getParentRoute: () => root,
  path: "/clients/$name",
  validateSearch: partly((search) => ({ window: oneOf(search["window"], ["3600", "21600", "86400"] as const) })),
  component: lazyRouteComponent(() => import("./pages/client")),
});

const leases = createRoute({
  getParentRoute: () => root,
  path: "/leases",
  validateSearch: partly((search) => ({
    queue: text(search["queue"]),
    task: text(search["task"]),
    worker: text(search["worker"]),
    by: oneOf(search["by"], ["worker"] as const),
  })),
  component: lazyRouteComponent(() => import("./pages/leases")),
});

const messages = createRoute({
  getParentRoute: () => root,
  path: "/messages",
  validateSearch: partly((search) => ({
    state: list(search["state"]),
    queue: list(search["queue"]),
    task: text(search["task"]),
    client: text(search["client"]),
    key: text(search["key"]),
    text: text(search["text"]),
    since: number(search["since"]),
    until: number(search["until"]),
    last: number(search["last"]),
  })),
  component: lazyRouteComponent(() => import("./pages/messages")),
});

const message = createRoute({
  getParentRoute: () => root,
  path: "/messages/$id",
  component: lazyRouteComponent(() => import("./pages/message")),
});

const group = createRoute({
  getParentRoute: () => root,
  path: "/groups/$id",
  component: lazyRouteComponent(() => import("./pages/group")),
});

const dead = createRoute({
  getParentRoute: () => root,
  path: "/dead",
  validateSearch: partly((search) => ({
    queue: text(search["queue"]),
    task: text(search["task"]),
    group: text(search["group"]),
  })),
  component: lazyRouteComponent(() => import("./pages/dead")),
});

const workers = createRoute({
  getParentRoute: () => root,
  path: "/workers",
  validateSearch: partly((search) => ({ worker: text(search["worker"]), sort: text(search["sort"]) })),
  component: lazyRouteComponent(() => import("./pages/workers")),
});

const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  validateSearch: partly((search) => ({ schedule: text(search["schedule"]) })),
  component: lazyRouteComponent(() => import("./pages/schedules")),
});

const webhooks = createRoute({
  getParentRoute: () => root,
  path: "/webhooks",
  validateSearch: partly((search) => ({ endpoint: text(search["endpoint"]), show: oneOf(search["show"], ["failed", "done"] as const) })),
  component: lazyRouteComponent(() => import("./pages/webhooks")),
});

const findings = createRoute({
  getParentRoute: () => root,
  path: "/findings",
  validateSearch: partly((search) => ({ finding: text(search["finding"]) })),
  component: lazyRouteComponent(() => import("./pages/findings")),
});

const events = createRoute({
  getParentRoute: () => root,
  path: "/events",
  validateSearch: partly((search) => ({
    kind: list(search["kind"]),
    queue: text(search["queue"]),
    text: text(search["text"]),
    completed: flag(search["completed"]),
  })),
  component: lazyRouteComponent(() => import("./pages/events")),
});

const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  validateSearch: partly((search) => ({ find: text(search["find"]), set: flag(search["set"]) })),
  component: lazyRouteComponent(() => import("./pages/system")),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, queues, queue, clients, client, leases, messages, message, group, dead, workers, schedules, webhooks, findings, events, system]),
  basepath: config.base || "/",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultErrorComponent: PageTrouble,
  trailingSlash: "never",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
