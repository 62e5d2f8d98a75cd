import { endWithParent } from '../lifecycle/end-with-parent.ts';

endWithParent();
process.stdout.write('up\n');
if (process.argv[2] === 'forever') setInterval(() => {}, 1000);
else process.exitCode = 3;
