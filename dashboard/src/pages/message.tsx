// One message, as a page.
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { shortId } from "../format/names";
import MessageView from "../message/message-view";
import { Page } from "../parts/page";
import { words } from "../words";

export default function MessagePage() {
  const { id } = useParams({ from: "/messages/$id" });
  const [title, setTitle] = useState("");
  return (
    <Page title={`${title || words.columns.message} ${shortId(id)}`} heading={null}>
      <div className="@container"><MessageView key={id} id={id} isPage onTitle={(next) => next !== title && queueMicrotask(() => setTitle(next))} /></div>
    </Page>
  );
}
