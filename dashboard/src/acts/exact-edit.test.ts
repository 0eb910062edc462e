import { expect, test } from "vitest";
import { readEdit } from "./exact-edit";

const TEXT = '{"id":"a","new_id":null,"queue":"q","changes":[{"path":"payload.checksum","kind":"changed","before":12345678901234567890,"after":12345678901234567891},{"path":"payload.f","kind":"added","before":null,"after":1.10},{"path":"payload.l","kind":"removed","before":[1,{"n":9007199254740993}],"after":null}],"checked":true,"dry_run":true,"redacted":false}';

test("differences keep every digit", () => {
  const { changes } = readEdit(TEXT);
  expect(changes.map((one) => [one.before, one.after])).toEqual([
    ["12345678901234567890", "12345678901234567891"], [null, "1.10"], ['[1,{"n":9007199254740993}]', null],
  ]);
});

test("what may not be seen is not there", () => {
  expect(readEdit(TEXT.replace('"redacted":false', '"redacted":true')).changes[0]).toMatchObject({ before: null, after: null });
});
