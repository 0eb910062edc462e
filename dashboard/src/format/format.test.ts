import { describe, expect, test } from "vitest";
import { duration, parseDuration, roughly, secondsLeft, shortDuration, wholeDuration } from "./duration";
import { shortId, shortOwner } from "./names";
import { exactTime } from "./moment";
import { bytes, count, percent, perMinute, plural, rate, share } from "./number";
import { lastReason } from "./reason";
import { scheduleInWords } from "./schedule";

describe("durations", () => {
  test.each([
    [null, "—"], [0, "0 s"], [0.0004, "<1 ms"], [0.012, "12 ms"], [0.1, "0.1 s"], [2.14, "2.1 s"], [12.4, "12 s"], [59.6, "1 m 00 s"], [221, "3 m 41 s"], [3600, "1 h 00 m"], [7500, "2 h 05 m"], [100_000, "1 d 3 h"], [-4, "−4.0 s"],
  ])("%s is %s", (seconds, text) => expect(duration(seconds)).toBe(text));
  test("what cannot be known is a dash, never 0", () => {
    expect([duration(undefined), count(null), rate(null), share(null), bytes(undefined), wholeDuration(null)]).toEqual(Array(6).fill("—"));
  });
  test("whole seconds never jump ahead", () => expect([wholeDuration(3.99), wholeDuration(59.99), wholeDuration(60)]).toEqual(["3 s", "59 s", "1 m 00 s"]));
  test("one unit", () => expect([roughly(59), roughly(90), roughly(5400), shortDuration(110), shortDuration(0.2), shortDuration(7200)]).toEqual(["59 s", "2 min", "2 h", "1.8 m", "0.2 s", "2.0 h"]));
  test("a countdown counts as the document of the dashboard does: 30 s at once, 1 s before the end, then overdue", () => {
    expect([secondsLeft(30, 0), secondsLeft(30, 0.2), secondsLeft(30, 29.01), secondsLeft(30, 30), secondsLeft(30, 31)]).toEqual([30, 30, 1, 0, -1]);
  });
  test("as people type them", () => expect(["30", "90s", "5m", "1h30m", "2d", "", "soon"].map(parseDuration)).toEqual([30, 90, 300, 5400, 172_800, null, null]));
});

test("numbers", () => {
  expect([count(1284), count(1284, true), count(0)]).toEqual(["1,284", "≈ 1,284", "0"]);
  expect([rate(0), rate(0.01), rate(18.24), rate(312.4)]).toEqual(["0", "<0.1", "18.2", "312"]);
  expect([share(0), share(0.0004), share(0.004), share(0.5), share(3.8), share(39.3)]).toEqual(["0 %", "<0.1 %", "0.4 %", "50 %", "380 %", "39 ×"]);
  expect([percent(0), percent(0.2), percent(12.5), percent(150), percent(null)]).toEqual(["0 %", "<1 %", "13 %", "150 %", "—"]);
  expect([perMinute(0), perMinute(0.42), perMinute(312.4), perMinute(undefined)]).toEqual(["0", "0.4", "312", "—"]);
  expect([bytes(148), bytes(4_402_341_478), bytes(999_999)]).toEqual(["148 B", "4.4 GB", "1.0 MB"]);
  expect([plural(1, "lease"), plural(2, "lease"), plural(1200, "lease")]).toEqual(["1 lease", "2 leases", "1,200 leases"]);
});

test("a moment to the millisecond is rounded, never cut", () => {
  expect([exactTime(1795012178.1), exactTime(1795012327.2), exactTime(1795012327.9996)].map((one) => one.slice(-6))).toEqual(["38.100", "07.200", "08.000"]);
});

test("names stay apart when they are shortened", () => {
  expect(shortId("01a1e91439d86c5128bf142f9638c3ae")).toBe("01a1e9…c3ae");
  expect(shortId("order-17")).toBe("order-17");
  expect(shortOwner("gpu-3/9f21aabbccdd")).toBe("gpu-3/9f21");
  expect(shortOwner("http:tok/consumer-a")).toBe("http:tok/cons");
});

test("of a death the last reason is told", () => {
  expect(lastReason("gave up after 3 of 3 attempts; the last one: OSError: no fax answers\nmore", "OSError")).toBe("no fax answers");
  expect(lastReason("not a PDF")).toBe("not a PDF");
  expect(lastReason(null)).toBe("");
});

describe("schedules in words", () => {
  test.each([
    ["0 3 * * MON-FRI Europe/Berlin", "every weekday at 03:00 Europe/Berlin"],
    ["0 3 * * 1-5 UTC", "every weekday at 03:00 UTC"],
    ["30 2 * * * UTC", "every day at 02:30 UTC"],
    ["*/15 * * * * UTC", "every 15 minutes"],
    ["0 * * * * UTC", "every hour"],
    ["5 * * * * UTC", "every hour at :05"],
    ["0 */6 * * * UTC", "every 6 hours"],
    ["0 9,17 * * MON,THU UTC", "every Monday and Thursday at 09:00 and 17:00 UTC"],
    ["0 0 1 * * UTC", "the 1st of every month at 00:00 UTC"],
    ["0 0 L * * UTC", "the last day of every month at 00:00 UTC"],
    ["0 0 1 1,7 * UTC", "the 1st of January and July at 00:00 UTC"],
    ["@daily Europe/Berlin", "every day at 00:00 Europe/Berlin"],
    ["@hourly UTC", "every hour"],
    ["every 5 min", "every 5 minutes"],
    ["every 1 h", "every hour"],
    ["0 3 * * FRI#2 UTC", "0 3 * * FRI#2 UTC"],
    ["0 3 13 * FRI UTC", "0 3 13 * FRI UTC"],
    ["1-5,20 3 * * * UTC", "1-5,20 3 * * * UTC"],
  ])("%s", (spec, text) => expect(scheduleInWords(spec)).toBe(text));
});
