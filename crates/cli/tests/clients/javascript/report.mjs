// Runs steps and prints one line of JSON for each. It knows neither a client nor a server.
const DEADLINE_MS = 20_000;

// What a step throws that the client has no way to do.
export class Unable extends Error {}

// A step that fails or waits too long is reported, and the next one runs all the same.
export async function step(name, run) {
  const line = { step: name };
  try {
    const detail = await within(DEADLINE_MS, run());
    Object.assign(line, { ok: true, detail });
  } catch (error) {
    if (error instanceof Unable) line.skipped = error.message;
    else Object.assign(line, { ok: false, detail: `${error?.message ?? error}` });
  }
  console.log(JSON.stringify(line));
  return line.ok;
}

export function check(holds, otherwise) {
  if (!holds) throw new Error(typeof otherwise === 'string' ? otherwise : JSON.stringify(otherwise));
}

export function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A value that comes later, by a handler.
export function expected() {
  let arrive;
  const value = new Promise(resolve => { arrive = resolve; });
  return { arrive, value };
}
