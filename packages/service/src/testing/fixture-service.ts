import { pbkdf2 } from 'node:crypto';
import { open } from 'node:fs';
import { promisify } from 'node:util';
import { ConfigError } from '../config/load.ts';
import { runService } from '../lifecycle/run-service.ts';
import { fixtureConfig } from './config.ts';

// A service with two parts that misbehaves in the way its argument names. Run as a process by run-service.test.ts.
const misbehaviour = process.argv[2];
const never = () => new Promise<void>(() => undefined);

await runService({
  name: 'fixture',
  config: fixtureConfig,
  async start({ start, log, fail, signal }) {
    await start(
      'below',
      () => log.info('below opened'),
      () => log.info('below closed'),
    );
    await start(
      'above',
      async () => {
        if (misbehaviour === 'refuses') throw new ConfigError(['FIXTURE_FILE names a file that makes no sense.']);
        if (misbehaviour === 'start-fails') throw new Error('the server above can not be reached');
        if (misbehaviour === 'start-waits') {
          log.info('above waits');
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
        }
        if (misbehaviour === 'start-hangs') {
          log.info('above waits');
          await never();
        }
        log.info('above opened');
      },
      async () => {
        if (misbehaviour === 'stop-hangs') await never();
        if (misbehaviour === 'stop-hangs-natively') await promisify(pbkdf2)('', '', 1_000_000_000, 64, 'sha512');
        // A FIFO that nobody writes to, named by the next argument: a thread of Node's pool waits in it for ever, and no part waits for it.
        if (misbehaviour === 'stop-leaves-a-thread') open(process.argv[3] ?? '', () => undefined);
        if (misbehaviour === 'stop-fails') throw new Error('could not be flushed');
        log.info('above closed');
      },
    );
    setImmediate(() => {
      if (misbehaviour === 'throws') throw new Error('a bug');
      if (misbehaviour === 'rejects') void Promise.reject(new Error('a bug'));
      if (misbehaviour === 'fails') fail(new Error('the loop broke'));
    });
  },
});
