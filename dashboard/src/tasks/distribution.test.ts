import { expect, test } from "vitest";
import { placeOn, scaleOf } from "./distribution";

const bucket = (from_seconds: number, to_seconds: number) => ({ from_seconds, to_seconds, runs: 1 });

test("milliseconds and hours have room beside each other", () => {
  const scale = scaleOf([bucket(0.01, 0.02), bucket(0.02, 0.04)], [3600]);
  const places = [0.01, 0.02, 0.04, 3600].map((one) => placeOn(scale, one));
  expect(places.every((one) => one > 0 && one < 1)).toBe(true);
  expect(places[1]! - places[0]!).toBeCloseTo(places[2]! - places[1]!);
});

test("a run of no time at all lies at the beginning", () => {
  const scale = scaleOf([bucket(0, 0.001)], []);
  expect([placeOn(scale, 0), Number.isFinite(placeOn(scale, 0.001))]).toEqual([0, true]);
});
