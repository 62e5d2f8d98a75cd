// A replay that reads Kafka alone.
import { measureReplay } from '../lib/replay.mjs';

await measureReplay('kafka');
