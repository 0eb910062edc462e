import { describe, expect, test } from "vitest";
import { items, laidOutText, slices, tokens } from "./exact-json";

const TEXT = '{"id":"a","body":{"n":12345678901234567890,"f":1.10,"s":"a \\"quoted\\" {brace}","l":[1,2,[3]]},"result":null,"message":{"headers":{"x":"y"}}}';

describe("JSON as it was written", () => {
  test("fields are cut out without reading them", () => {
    const found = slices(TEXT)!;
    expect([...found.keys()]).toEqual(["id", "body", "result", "message"]);
    expect(found.get("body")).toContain("12345678901234567890");
    expect(found.get("result")).toBe("null");
    expect(slices(found.get("message")!)!.get("headers")).toBe('{"x":"y"}');
  });
  test("items are cut out without reading them", () => {
    expect(items('[ {"a":"]"}, 12345678901234567890 ,[1,2],"x,y" ]')).toEqual(['{"a":"]"}', "12345678901234567890", "[1,2]", '"x,y"']);
    expect([items("[]"), items("{}")]).toEqual([[], null]);
  });
  test("large and exact numbers stay", () => {
    const text = laidOutText(slices(TEXT)!.get("body")!);
    expect(text).toContain('"n": 12345678901234567890');
    expect(text).toContain('"f": 1.10');
  });
  test("laid out, it means the same", () => {
    for (const value of [{}, [], { a: [] }, { a: { b: [1, { c: null }] } }, ["x".repeat(80), "y"], "text", 3, null, { "": "" }]) {
      expect(JSON.parse(laidOutText(JSON.stringify(value)))).toEqual(value);
    }
  });
  test("short lists stay on one line, long ones do not", () => {
    expect(laidOutText('{"ladder":[1080,720,480]}')).toBe('{\n  "ladder": [1080, 720, 480]\n}');
    expect(laidOutText(JSON.stringify({ a: ["x".repeat(40), "y".repeat(40)] }))).toContain('[\n    "');
  });
  test("a key is told from a text", () => {
    expect(tokens('{"a":"a"}').filter((one) => one.mark !== "plain")).toEqual([{ mark: "key", text: '"a"' }, { mark: "text", text: '"a"' }]);
  });
  test("what is no JSON is shown all the same", () => {
    expect(tokens("<b>").map((one) => one.text).join("")).toBe("<b>");
    expect(slices("[1]")).toBeNull();
  });
});
