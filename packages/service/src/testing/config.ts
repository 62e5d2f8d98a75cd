import { loadConfig } from '../config/load.ts';
import { kafkaVariables, serviceVariables } from '../config/tables.ts';

/** The configuration of the service that the tests run as a process. */
export const fixtureConfig = () => loadConfig({ service: serviceVariables, kafka: kafkaVariables }, process.env);
