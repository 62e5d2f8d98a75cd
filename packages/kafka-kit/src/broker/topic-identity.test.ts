import { expect, it } from 'vitest';
import { type AdminFactory, incarnationOf, TopicIdentity } from './topic-identity.ts';

it('an incarnation is the first 8 characters of the topic id in base64url: it stands in file names and ids', () => {
  expect(incarnationOf('a+b/c+d/efghijklmnopqr')).toBe('a-b_c-d_');
});

it('what is no topic id is told, not made a name of', () => {
  expect(() => incarnationOf('short')).toThrow('not a topic id in base64: "short"');
  expect(() => incarnationOf('abc=defgh')).toThrow('not a topic id');
});

/** Admin clients whose requests a test answers, and whose disconnect must not come while one is under way: the real one would stand still. */
function clients() {
  const did = { made: 0, ended: 0, endedBusy: 0 };
  const open: { readonly topic: string; answer(id?: string): Promise<void> }[] = [];
  const create: AdminFactory = () => {
    did.made += 1;
    let requests = 0;
    return {
      describeTopics: (([topic]: string[], _: object, done: (fault: Error | undefined, found?: unknown) => void) => {
        requests += 1;
        open.push({
          topic: topic ?? '',
          answer: async (id) => {
            requests -= 1;
            open.shift();
            if (id === undefined) done(Object.assign(new Error('timed out'), { code: -185 }));
            else done(undefined, [{ name: topic, topicId: { base64: id } }]);
            await new Promise((resolve) => setImmediate(resolve));
          },
        });
      }) as never,
      disconnect: () => {
        did.ended += 1;
        if (requests > 0) did.endedBusy += 1;
      },
    };
  };
  return { did, open, identity: new TopicIdentity({ bootstrapServers: '', clientId: '', securityProtocol: 'plaintext' }, create) };
}

it('a client is ended behind its last request, never while one is under way: that would stop the whole process', async () => {
  const { did, open, identity } = clients();
  const answers = [identity.lookUp('a', 1), identity.lookUp('b', 1)].map((each) => each.then(String, (error: Error) => error.message));
  await open[0]?.answer();
  expect(did).toEqual({ made: 1, ended: 0, endedBusy: 0 });
  const later = identity.lookUp('a', 1);
  expect(did.made).toBe(2);
  await open[0]?.answer();
  expect(did).toEqual({ made: 2, ended: 1, endedBusy: 0 });
  identity.close();
  expect(did.ended).toBe(1);
  await open[0]?.answer('abcdefghij');
  expect([await later, did.ended, did.endedBusy]).toEqual(['abcdefgh', 2, 0]);
  expect(await Promise.all(answers)).toEqual(['timed out', 'timed out']);
  await expect(identity.lookUp('a', 1)).rejects.toThrow('closed');
});

it('all who ask while a look-up is under way share the next one: a request for each would hold every thread that polls need', async () => {
  const { open, identity } = clients();
  const first = identity.lookUp('a', 1);
  const others = Array.from({ length: 12 }, () => identity.lookUp('a', 1));
  expect(open).toHaveLength(1);
  await open[0]?.answer('aaaaaaaaaa');
  expect(open).toHaveLength(1);
  // Begun after the others were asked for: a topic made anew meanwhile is seen by them, and not by the first.
  await open[0]?.answer('bbbbbbbbbb');
  expect([await first, ...new Set(await Promise.all(others))]).toEqual(['aaaaaaaa', 'bbbbbbbb']);
  const refused = identity.lookUp('a', 1).catch((error: Error) => error.message);
  const behind = identity.lookUp('a', 1);
  await open[0]?.answer();
  await open[0]?.answer('cccccccccc');
  expect([await refused, await behind, open.length]).toEqual(['timed out', 'cccccccc', 0]);
});
