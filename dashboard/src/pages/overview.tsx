// Overview: is work flowing, what is stuck, since when. Answered in five seconds.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { deadGroups, figures as figuresQuery, overview as overviewQuery, type FiguresAsk } from "../api/queries";
import type { OverviewSnapshot } from "../api/schema";
import { FiveNumbers } from "../overview/five-numbers";
import { FlowPlot } from "../overview/flow-plot";
import { headlineParts } from "../overview/headline";
import { LongestRuns, NewestDead } from "../overview/side-lists";
import { QueueTable, TaskTable } from "../overview/worst-tables";
import { Choice } from "../parts/choice";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { words } from "../words";

const W = words.overview;
/** Points of the plot: enough to see a minute of an hour, few enough to be read at once. */
export const STEPS: Record<string, number> = { "3600": 60, "21600": 300, "86400": 1200 };

export default function OverviewPage() {
  const { window = "3600" } = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const { data, error, refetch } = useQuery(overviewQuery);
  const ask: FiguresAsk = { seconds: Number(window), step: STEPS[window] };
  const history = useQuery(figuresQuery(ask));
  const groups = useQuery(deadGroups());
  if (!data) return <Page title={W.title}><Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={12} />}</Panel></Page>;
  const isEmpty = data.queue_count === 0 && data.lease_count === 0;
  return (
    <Page title={W.title} actions={<Choice label={W.window} value={window} options={Object.entries(W.windows) as [typeof window, string][]} onChange={(next) => void navigate({ search: (search) => ({ ...search, window: next === "3600" ? undefined : next }), replace: true })} />}>
      <Headline data={data} />
      <FiveNumbers data={data} history={history.data} groups={groups.data} />
      {isEmpty ? (
        <Panel><Empty title={W.noQueues} command={W.noQueuesCommand}>{W.noQueuesMore}</Empty></Panel>
      ) : (
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_296px]">
          <div className="flex min-w-0 flex-col gap-4">
            <FlowPlot report={history.data} window={window} isPending={history.isPending} />
            <QueueTable data={data} history={history.data} />
            <TaskTable tasks={data.tasks} all={data.task_count} figures={history.data?.tasks} />
          </div>
          <div className="grid min-w-0 gap-4 sm:grid-cols-2 xl:grid-cols-1">
            <LongestRuns leases={data.leases} />
            <NewestDead groups={groups.data} />
          </div>
        </div>
      )}
    </Page>
  );
}

/** The sentence. What is wrong stands in the place of what is well. */
function Headline({ data }: { data: OverviewSnapshot }) {
  const { mood, text } = data.headline;
  const { first, rest, others } = headlineParts(text);
  const hue = mood === "bad" ? "text-dead" : mood === "soon" ? "text-soon-ink" : "text-ink";
  return (
    <>
    <Turned mood={mood} text={text} />
    <p className="m-0 -mt-2 min-h-6 text-[15px] wrap-anywhere">
      <span className={`${hue} ${mood === "well" ? "" : "font-[550]"}`}>{first}</span>
      <span className="text-soft">{rest}{others > 0 && ` ${W.others(others)}`}</span>
    </p>
    </>
  );
}

/** Told aloud when all turns from well to bad or back, not each time that a figure in it changes. */
function Turned({ mood, text }: { mood: OverviewSnapshot["headline"]["mood"]; text: string }) {
  const [said, setSaid] = useState({ mood, text: "" });
  useEffect(() => setSaid((before) => (before.mood === mood ? before : { mood, text })), [mood, text]);
  return <span role="status" className="sr-only">{said.text}</span>;
}

