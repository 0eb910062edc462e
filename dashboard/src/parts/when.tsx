// A moment in local time, UTC on hover; and how long ago something was.
import { moment, utc } from "../format/moment";
import { roughly } from "../format/duration";
import { serverNow } from "../live/clock";
import { words } from "../words";
import { TickText } from "./tick";

export function When({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined) return <>{words.unknown}</>;
  return <time dateTime={new Date(at * 1000).toISOString()} title={utc(at)}>{moment(at, serverNow())}</time>;
}

export function Ago({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined) return <>{words.unknown}</>;
  return <TickText title={utc(at)} of={(now) => words.words.ago(roughly(now - at))} />;
}

export function Until({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined) return <>{words.unknown}</>;
  return <TickText title={utc(at)} of={(now) => (at > now ? words.words.in(roughly(at - now)) : words.words.now)} />;
}
