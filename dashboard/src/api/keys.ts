// Under which keys data is kept: what begins alike becomes stale together.

export const keys = {
  session: ["session"],
  overview: ["snapshot", "overview"],
  /** The leases that end soonest, as the stream follows them. */
  soonLeases: ["snapshot", "leases", "soon"],
  /** All of them. */
  leases: ["snapshot", "leases", "all"],
  queues: ["queues"],
  figures: ["figures"],
  tasks: ["tasks"],
  scaling: ["scaling"],
  timing: ["timing"],
  messages: ["messages"],
  message: (id: string) => ["message", id],
  group: (id: string) => ["group", id],
  dead: ["dead"],
  workers: ["workers"],
  schedules: ["schedules"],
  clients: ["clients"],
  webhooks: ["webhooks"],
  findings: ["findings"],
  acts: ["acts"],
  settings: ["settings"],
} as const;
