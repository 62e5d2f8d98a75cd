export { main, type StartContext } from './main.ts';
