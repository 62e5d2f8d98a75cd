// A replay that reads the lake alone.
import { measureReplay } from '../lib/replay.mjs';

await measureReplay('lake');
