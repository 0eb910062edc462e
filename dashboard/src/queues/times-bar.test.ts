import { expect, test } from "vitest";
import { apart, placeOf } from "./times-bar";

test("of labels that would lie on each other the first one stays", () => {
  expect(apart([{ at: 0.9 }, { at: 0.3 }, { at: 0.86 }], 0.085)).toEqual([{ at: 0.9 }, { at: 0.3 }]);
});

test("a bar of nothing has all its places at its beginning", () => expect([placeOf(3, 0), placeOf(0, 9), placeOf(9, 9)]).toEqual([0, 0, 1]));
