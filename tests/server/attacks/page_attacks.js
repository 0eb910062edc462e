// What a page of another origin can try against the server at `base`. Returns what it could read.
async ({base, queue}) => {
  const read = [];
  const api = base + '/api/v1';
  const json = body => JSON.stringify(body);
  const acts = [
    [`/queues/${queue}/pause`, {}],
    ['/messages', {messages: [{queue, task: 'resize', payload: {image: 'evil.png'}}]}],
    ['/tokens', {name: 'evil', scopes: ['admin']}],
  ];
  const wait = ms => new Promise(done => setTimeout(done, ms));
  const tried = async (name, attempt) => {
    try {
      const text = await Promise.race([attempt(), wait(1500)]);
      if (text) read.push([name, String(text).slice(0, 200)]);
    } catch (error) { /* refused by the browser */ }
  };
  const text = async (url, options) => (await fetch(url, options)).text();
  const all = [];
  for (const [path, body] of acts) {
    const url = api + path;
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
      for (const mode of ['no-cors', 'cors']) {
        for (const credentials of ['omit', 'include']) {
          all.push(tried(`fetch ${mode} ${type}`, () => text(
            url, {method: 'POST', mode, credentials, headers: {'Content-Type': type}, body: json(body)})));
        }
      }
      all.push(tried(`beacon ${type}`, async () => { navigator.sendBeacon(url, new Blob([json(body)], {type})); }));
    }
    all.push(tried('fetch without a type', () => text(url, {method: 'POST', mode: 'no-cors', body: new Blob([json(body)])})));
    all.push(tried('fetch form data', () => text(url, {method: 'POST', mode: 'no-cors', body: new FormData()})));
    all.push(tried('fetch DELETE', () => text(`${api}/queues/${queue}`, {method: 'DELETE', credentials: 'include'})));
    all.push(tried('XMLHttpRequest', () => new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      request.open('POST', url); request.withCredentials = true;
      request.onload = () => done(request.responseText); request.onerror = fail;
      request.setRequestHeader('Content-Type', 'text/plain'); request.send(json(body));
    })));
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const form = document.createElement('form');
      Object.assign(form, {method: 'POST', action: url, enctype, target: 'sink'});
      const field = document.createElement('input');
      field.name = json(body).slice(0, -1) + ',"x":"'; field.value = '"}';
      form.append(field); document.body.append(form); form.submit();
      await wait(30);
    }
  }
  for (const path of ['/queues', '/overview', '/messages', '/tokens', '/session', '/openapi.json', '/settings']) {
    all.push(tried(`fetch GET ${path}`, () => text(api + path, {credentials: 'include'})));
    all.push(tried(`fetch GET no-cors ${path}`, () => text(api + path, {mode: 'no-cors', credentials: 'include'})));
    for (const [tag, name] of [['img', 'src'], ['script', 'src'], ['iframe', 'src'], ['embed', 'src'], ['object', 'data']]) {
      all.push(tried(`${tag} ${path}`, () => new Promise((done, fail) => {
        const element = document.createElement(tag);
        element.onerror = fail;
        element.onload = () => {
          if (tag === 'img') done('an image');
          if (tag === 'script') done('a script');
          if (tag === 'iframe') done(element.contentDocument && element.contentDocument.body && element.contentDocument.body.innerText);
        };
        element[name] = api + path; document.body.append(element);
      })));
    }
  }
  all.push(tried('EventSource', () => new Promise((done, fail) => {
    const source = new EventSource(`${api}/events/stream?after=0`, {withCredentials: true});
    source.onopen = () => done('opened'); source.onmessage = event => done(event.data); source.onerror = fail;
  })));
  all.push(tried('WebSocket', () => new Promise((done, fail) => {
    const socket = new WebSocket(api.replace('http', 'ws') + '/events/stream');
    socket.onopen = () => done('opened'); socket.onerror = fail;
  })));
  await Promise.all(all);
  return read;
}
