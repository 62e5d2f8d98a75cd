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

/** Asks the cluster which life of a topic is the present one. Holds one client of its own: one derived from a consumer never answers. */
export class TopicIdentity {
  readonly #settings: KafkaSettings;
  #admin: ReturnType<typeof kafka.AdminClient.create> | undefined;

  constructor(settings: KafkaSettings) {
    this.#settings = settings;
  }

  /** The topic's incarnation now; undefined where there is no such topic. Rejects when the cluster does not answer. */
  async lookUp(topic: string, timeoutMs: number): Promise<string | undefined> {
    this.#admin ??= kafka.AdminClient.create(nativeSettings(this.#settings));
    const admin = this.#admin;
    try {
      const found = await ask<readonly Described[]>((done) => admin.describeTopics([topic], { timeout: timeoutMs }, done as never));
      return incarnationIn(topic, found[0]);
    } catch (error) {
      // A client that has seen a broker restart can go on failing for a minute: the next look-up begins with a new one.
      if (this.#admin === admin) this.close();
      throw error;
    }
  }

  close(): void {
    this.#admin?.disconnect();
    this.#admin = undefined;
  }
}

function incarnationIn(topic: string, described: Described | undefined): string | undefined {
  if (described?.error?.code === UNKNOWN_TOPIC) return undefined;
  if (described?.error !== undefined) throw new Error(`topic ${topic}: ${described.error.message}`);
  const id = described?.topicId?.base64;
  if (id === undefined) throw new Error(`the cluster told no id for topic ${topic}`);
  return incarnationOf(id);
}
