// JSON exactly as it was written: laid out, coloured, no number rounded.
import { useMemo } from "react";
import { laidOut, laidOutText } from "../api/exact-json";
import { bytes } from "../format/number";
import { CopyButton } from "./copy";

/** From so many characters on it is shown without colours: a browser can draw a megabyte of text, not of elements. */
const COLOURED = 60_000;

export function JsonView({ text }: { text: string }) {
  const parts = useMemo(() => (text.length <= COLOURED ? laidOut(text) : null), [text]);
  return (
    <pre className="json max-h-[60vh] px-4 py-3" tabIndex={0}>
      {parts
        ? parts.map((part, place) => (part.mark === "plain" ? part.text : <span key={place} className={part.mark}>{part.text}</span>))
        : text}
    </pre>
  );
}

export function sizeOfText(text: string): string {
  return bytes(new Blob([text]).size);
}

export function CopyJson({ text }: { text: string }) {
  return <CopyButton text={() => laidOutText(text)} />;
}
