import type { KafkaSettings } from '../settings.ts';
import { ask, kafka, nativeSettings } from './native-client.ts';

const INCARNATION = /^[A-Za-z0-9_-]{8}$/;

/** One life of a topic: the first 8 characters of its topic id in base64url. The client's own base64 can hold `/` and `+`. Throws on anything else. */
export function incarnationOf(topicIdBase64: string): string {
  const incarnation = topicIdBase64.slice(0, 8).replaceAll('+', '-').replaceAll('/', '_');
  if (!INCARNATION.test(incarnation)) throw new Error(`not a topic id in base64: "${topicIdBase64}"`);
  return incarnation;
}

interface Described {
  readonly name: string;
  /** The published type says `base64str`; at run time it is `base64`. */
  readonly topicId?: { readonly base64?: string };
  readonly error?: { readonly code: number; readonly message: string };
}

const UNKNOWN_TOPIC = 3;

type Admin = ReturnType<typeof kafka.AdminClient.create>;

/** How a look-up's client is made and ended; a test gives its own. */
export type AdminFactory = () => Pick<Admin, 'describeTopics' | 'disconnect'>;

/** One admin client. Its disconnect is a synchronous call that waits for its requests: seen to stop the whole process for a minute with Kafka gone. */
class AdminLease {
  readonly #client: ReturnType<AdminFactory>;
  #requests = 0;
  #over = false;

  constructor(create: AdminFactory) {
    this.#client = create();
  }

  async describe(topic: string, timeoutMs: number): Promise<readonly Described[]> {
    this.#requests += 1;
    try {
      return await ask((done) => this.#client.describeTopics([topic], { timeout: timeoutMs }, done as never));
    } finally {
      this.#requests -= 1;
      this.#disconnectWhenIdle();
    }
  }

  /** Ends it behind its last request. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#disconnectWhenIdle();
  }

  #disconnectWhenIdle(): void {
    if (this.#over && this.#requests === 0) this.#client.disconnect();
  }
}

/** Asks the cluster which life of a topic is the present one. Holds one client of its own: one derived from a consumer never answers. */
export class TopicIdentity {
  readonly #create: AdminFactory;
  readonly #running = new Map<string, Promise<string | undefined>>();
  /** The look-up behind the running one, shared by all who came meanwhile: each request holds a thread of the pool that polls need too. */
  readonly #next = new Map<string, Promise<string | undefined>>();
  #admin: AdminLease | undefined;
  #closed = false;

  constructor(settings: KafkaSettings, create: AdminFactory = () => kafka.AdminClient.create(nativeSettings(settings))) {
    this.#create = create;
  }

  /**
   * The topic's incarnation by a look-up begun after the call; undefined where there is no such topic. Rejects when the cluster does not
   * answer: within `timeoutMs`, or twice that where another look-up was under way.
   */
  lookUp(topic: string, timeoutMs: number): Promise<string | undefined> {
    const running = this.#running.get(topic);
    if (running === undefined) return this.#begin(topic, timeoutMs);
    let next = this.#next.get(topic);
    if (next === undefined) {
      const begin = (): Promise<string | undefined> => {
        this.#next.delete(topic);
        return this.#begin(topic, timeoutMs);
      };
      next = running.then(begin, begin);
      this.#next.set(topic, next);
    }
    return next;
  }

  /** Ends its client behind the requests under way; look-ups that come or begin later reject. */
  close(): void {
    this.#closed = true;
    this.#endClient();
  }

  #endClient(): void {
    this.#admin?.end();
    this.#admin = undefined;
  }

  #begin(topic: string, timeoutMs: number): Promise<string | undefined> {
    const asked = this.#ask(topic, timeoutMs).finally(() => {
      if (this.#running.get(topic) === asked) this.#running.delete(topic);
    });
    this.#running.set(topic, asked);
    return asked;
  }

  async #ask(topic: string, timeoutMs: number): Promise<string | undefined> {
    if (this.#closed) throw new Error('the look-up of topic ids was closed');
    this.#admin ??= new AdminLease(this.#create);
    const admin = this.#admin;
    try {
      const found = await admin.describe(topic, timeoutMs);
      return incarnationIn(topic, found[0]);
    } catch (error) {
      // A client that has seen a broker restart can go on failing for a minute: the next look-up begins with a new one.
      if (this.#admin === admin) this.#endClient();
      throw error;
    }
  }
}

function incarnationIn(topic: string, described: Described | undefined): string | undefined {
  if (described?.error?.code === UNKNOWN_TOPIC) return undefined;
  if (described?.error !== undefined) throw new Error(`topic ${topic}: ${described.error.message}`);
  const id = described?.topicId?.base64;
  if (id === undefined) throw new Error(`the cluster told no id for topic ${topic}`);
  return incarnationOf(id);
}
