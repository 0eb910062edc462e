import { describe, expect, test } from "vitest";
import { nextSort, readSort, sorted } from "./sorting";

const columns = [{ key: "n", sortBy: (row: { n: number | null; s: string }) => row.n }, { key: "s", sortBy: (row: { n: number | null; s: string }) => row.s }];
const rows = [{ n: 2, s: "b" }, { n: null, s: "a" }, { n: 9, s: "c" }];

describe("sorting", () => {
  test("numbers largest first, names from the beginning; what cannot be known comes last", () => {
    expect(sorted(rows, columns, readSort("n")).map((one) => one.n)).toEqual([9, 2, null]);
    expect(sorted(rows, columns, readSort("-n")).map((one) => one.n)).toEqual([2, 9, null]);
    expect(sorted(rows, columns, readSort("s")).map((one) => one.s)).toEqual(["a", "b", "c"]);
  });
  test("a column that is not there, or none, leaves them as they are", () => expect([sorted(rows, columns, readSort("x")), sorted(rows, columns, null)]).toEqual([rows, rows]));
  test("three clicks come round", () => {
    const once = nextSort(null, "n");
    const twice = nextSort(readSort(once), "n");
    expect([once, twice, nextSort(readSort(twice), "n"), nextSort(readSort("n"), "s")]).toEqual(["n", "-n", undefined, "s"]);
  });
});
