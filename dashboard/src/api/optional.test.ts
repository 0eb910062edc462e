import { expect, test } from "vitest";
import { noticing, orNothing } from "./optional";
import { ApiProblem, Disconnected } from "./problem";

const unknown = () => Promise.reject(new ApiProblem(404, { code: "route_not_found" }));

test("a route that the server does not know is nothing; every other refusal stays one", async () => {
  expect(await orNothing("scaling", unknown())).toBeNull();
  expect(await orNothing("scaling", Promise.resolve(3))).toBe(3);
  await expect(orNothing("timing", Promise.reject(new ApiProblem(404, { code: "message_not_found" })))).rejects.toThrow();
  await expect(orNothing("timing", Promise.reject(new Disconnected("away")))).rejects.toThrow("away");
});

test("an act that the server does not know fails as it is", async () => {
  await expect(noticing("touch", unknown())).rejects.toMatchObject({ status: 404 });
});
