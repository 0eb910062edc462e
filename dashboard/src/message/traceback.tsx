// A traceback: the user's own frames in full, the libraries' frames quiet. Pure cutting is in `frames`.
import { useState } from "react";
import { CopyButton } from "../parts/copy";
import { words } from "../words";

export interface Frame {
  text: string;
  isOwn: boolean;
}

const LIBRARY = /site-packages|dist-packages|[/\\]lib[/\\]python\d|<frozen |[/\\]tenure[/\\](runtime|task|call|handle|context|middleware)/;

/** Python's traceback cut into frames and the lines between them. */
export function frames(traceback: string): Frame[] {
  const found: Frame[] = [];
  for (const line of traceback.trimEnd().split("\n")) {
    const begins = /^\s*File "/.test(line);
    const last = found[found.length - 1];
    if (begins) found.push({ text: line, isOwn: !LIBRARY.test(line) });
    else if (last && /^\s+\S/.test(line) && /^\s*File "/.test(last.text)) last.text += `\n${line}`;
    else if (last && !/^\s*File "/.test(last.text)) last.text += `\n${line}`;
    else found.push({ text: line, isOwn: true });
  }
  return found;
}

export function Traceback({ text }: { text: string }) {
  const all = frames(text);
  const foreign = all.filter((one) => !one.isOwn).length;
  const [showsAll, setShowsAll] = useState(false);
  return (
    <div className="relative">
      <div className="absolute top-1 right-2 flex items-center gap-1 rounded-md bg-panel">
        {foreign > 0 && foreign < all.length && (
          <button type="button" className="button quiet" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>{showsAll ? words.message.ownFrames : words.message.allFrames}</button>
        )}
        <CopyButton text={text} />
      </div>
      <pre className="json max-h-[50vh] px-4 pt-2.5 pb-3 max-sm:wrap-anywhere max-sm:whitespace-pre-wrap" tabIndex={0}>
        {all.filter((one) => showsAll || one.isOwn).map((one, place) => <span key={place} className={one.isOwn ? "" : "text-faint"}>{one.text}{"\n"}</span>)}
      </pre>
    </div>
  );
}
