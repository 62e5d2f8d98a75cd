import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULE = 'github.com/prometheus/alertmanager/cmd/alertmanager@v0.28.1';

/** The program: an installed one, else built by Go from its own module, where that is to be had. */
export async function findAlertmanager(): Promise<string | undefined> {
  if (await runs('alertmanager')) return 'alertmanager';
  const built = await run('go', ['env', 'GOBIN', 'GOPATH']).then(
    ({ stdout }) => {
      const [bin = '', path = ''] = stdout.split('\n');
      return join(bin === '' ? join(path, 'bin') : bin, 'alertmanager');
    },
    () => undefined, // No Go: the test says that it was skipped.
  );
  if (built === undefined || (await runs(built))) return built;
  const building = run('go', ['install', MODULE]);
  // A minute of work beside tests that wait for their servers: it takes what they leave.
  if (building.child.pid !== undefined) setPriority(building.child.pid, constants.priority.PRIORITY_LOW);
  return building.then(
    () => built,
    () => undefined, // The module can not be had: skipped, too.
  );
}

async function runs(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

export interface Alertmanager extends AsyncDisposable {
  readonly url: URL;
  alerts(): Promise<readonly ListedAlert[]>;
}

export interface ListedAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
}

/** A real Alertmanager of its own, on a free port, that forgets everything at the end. */
export async function startAlertmanager(program: string): Promise<Alertmanager> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-alertmanager-'));
  const config = join(folder, 'alertmanager.yml');
  await mkdir(join(folder, 'data'));
  await writeFile(config, 'route: {receiver: nobody}\nreceivers: [{name: nobody}]\n');
  const url = new URL(`http://127.0.0.1:${await freePort()}`);
  const options = [`--config.file=${config}`, `--storage.path=${join(folder, 'data')}`, `--web.listen-address=${url.host}`];
  const child = spawn(program, [...options, '--cluster.listen-address='], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  const answers = (path: string): Promise<Response> => fetch(new URL(path, url));
  for (let tries = 0; ; tries++) {
    const ready = await answers('/-/ready').then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) break;
    if (tries > 200 || child.exitCode !== null) throw new Error(`Alertmanager does not answer (exit code ${child.exitCode})`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    url,
    alerts: async () => (await (await answers('/api/v2/alerts?active=true')).json()) as readonly ListedAlert[],
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
