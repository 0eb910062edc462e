// The tasks of `worker.mjs`: a function for each, by its name.
export async function resize({ image, width = 800 }, { signal, progress }) {
  if (!image.endsWith(".png")) throw Object.assign(new Error(`${image} is no PNG`), { permanent: true });
  for (let done = 0; done < 4; done += 1) {
    await new Promise((next) => setTimeout(next, 100));
    signal.throwIfAborted(); // the message was cancelled, or another worker has it
    progress((done + 1) / 4, `part ${done + 1} of 4`);
  }
  return { image, width };
}
