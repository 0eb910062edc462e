import { expect, test } from "vitest";
import { headlineParts } from "./headline";

test("what is the case stands apart from the rest and from the number of other things", () => {
  expect(headlineParts("2 leases are overdue, for 4 s: transcode on gpu-3; next sweep in 3 s (+2)")).toEqual({ first: "2 leases are overdue,", rest: " for 4 s: transcode on gpu-3; next sweep in 3 s.", others: 2 });
  expect(headlineParts("All well: 310/s in, swept 2 s ago")).toEqual({ first: "All well:", rest: " 310/s in, swept 2 s ago", others: 0 });
  expect(headlineParts("The last sweep was 40 s ago (+1)")).toEqual({ first: "The last sweep was 40 s ago", rest: ".", others: 1 });
});
