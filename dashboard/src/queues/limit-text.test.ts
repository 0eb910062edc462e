import { expect, test } from "vitest";
import { limitText } from "./limit-text";

const LIMIT = { queue: "crawl", running: null, per_second: null, rate: null, at: null, by: "" };

test("a limit is written as people write it", () => {
  expect(limitText({ ...LIMIT, running: 5 })).toBe("5 at once");
  expect(limitText({ ...LIMIT, per_second: 100 / 60, rate: "100/m" })).toBe("100/m");
  expect(limitText({ ...LIMIT, running: 5, per_second: 100 / 60, rate: "100/m" })).toBe("5 at once, 100/m");
});
