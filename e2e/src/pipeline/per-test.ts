import { afterEach } from 'vitest';
import { Pipeline, type PipelineOptions } from './pipeline.ts';

const running: Pipeline[] = [];

afterEach(async ({ task }) => {
  const failedAs = task.result?.state === 'fail' ? task.name : undefined;
  for (const pipeline of running.splice(0)) await pipeline.end(failedAs);
});

/** Starts a pipeline that ends with the test. */
export function startPipeline(options?: PipelineOptions): Pipeline {
  const pipeline = new Pipeline(options);
  running.push(pipeline);
  return pipeline;
}
