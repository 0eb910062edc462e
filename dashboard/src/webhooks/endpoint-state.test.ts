import { expect, test } from "vitest";
import type { EndpointStatus } from "../api/schema";
import { eventsText, moodOf, namesIn, stateText } from "./endpoint-state";

const NOW = 1_795_012_327;
const WELL: EndpointStatus = {
  name: "orders", url: "https://shop.example.com/notify", clients: [], hosts: [], events: ["completed", "dead", "cancelled"], created_at: 0, created_by: "ada",
  secret: "stored", rotating_until: null, disabled: null, health: { state: "closed", failures: 0, failing_since: null, rests_until: null, error: "" },
};
const failing = (health: Partial<EndpointStatus["health"]>): EndpointStatus => ({ ...WELL, health: { ...WELL.health, failures: 7, failing_since: NOW - 90_000, error: "HTTP 503", ...health } });

test("an endpoint answers, fails, rests, tries again, or is disabled", () => {
  expect([moodOf(WELL), stateText(WELL, NOW)]).toEqual(["alive", "answers"]);
  expect(moodOf(failing({}))).toBe("late");
  expect(stateText(failing({}), NOW)).toMatch(/^7 failures since \d+ \w+ /);
  const rests = failing({ state: "open", rests_until: NOW + 41.2 });
  expect([moodOf(rests), stateText(rests, NOW)]).toEqual(["late", "rests for 42 s after 7 failures"]);
  expect(stateText(rests, NOW + 42)).toBe("tries one delivery after 7 failures");
  expect(stateText(failing({ state: "half_open" }), NOW)).toBe("tries one delivery after 7 failures");
});

test("who disabled an endpoint, and why, is said; only what the server gave up is red", () => {
  const byHand = { ...WELL, disabled: { code: "operator", reason: "moves", at: NOW, by: "ada" } };
  expect([moodOf(byHand), stateText(byHand, NOW)]).toEqual(["paused", "disabled by ada: moves"]);
  const gone = { ...failing({ state: "open", rests_until: NOW + 9 }), disabled: { code: "gone", reason: "it answered 410", at: NOW, by: "" } };
  expect([moodOf(gone), stateText(gone, NOW)]).toEqual(["gone", "disabled: it answered 410"]);
});

test("endings are told in the words of deliveries", () => {
  expect(eventsText(WELL.events)).toBe("every ending");
  expect(eventsText(["dead", "cancelled"])).toBe("failed, cancelled");
});

test("names are read as people type them", () => {
  expect(namesIn(" acme-*, shop  shop,, ")).toEqual(["acme-*", "shop"]);
  expect(namesIn("  ")).toEqual([]);
});
