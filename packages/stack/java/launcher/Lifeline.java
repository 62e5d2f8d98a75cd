import java.io.IOException;

/**
 * Ends the process when its standard input closes, which is what the kernel does when the starter ends, however it ends:
 * a server left behind by a killed starter would hold its port, its memory and its data for ever.
 */
final class Lifeline {
    /** The services lost the same starter at the same moment: they get this long to write what they hold and to commit it. */
    private static final long GRACE_MS = 2_000;

    /** With the grace below the ten seconds within which nothing may be left; a training run, which writes its class archive at the end, gets longer. */
    private static final long HALT_AFTER_MS = Long.getLong("tailrace.haltAfterMs", 7_000);

    private Lifeline() {}

    static void watch() {
        Runtime.getRuntime().addShutdownHook(daemon("halt-timer", Lifeline::armHalt));
        daemon("lifeline", Lifeline::awaitEnd).start();
    }

    private static void awaitEnd() {
        try {
            while (System.in.read() >= 0) {
                // What is written here means nothing, only the end does.
            }
        } catch (IOException unreadable) {
            // As good as closed: nobody can tell this process any more that it should end.
        }
        pause(GRACE_MS);
        System.exit(0);
    }

    /** Shutdown hooks run side by side and the process ends only after all of them, so the timer has to be a thread of its own. */
    private static void armHalt() {
        daemon("halt", () -> {
            pause(HALT_AFTER_MS);
            System.err.println("not ended within " + HALT_AFTER_MS + " ms: halted");
            Runtime.getRuntime().halt(1);
        }).start();
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException early) {
            // Nobody interrupts these threads; going on early is the safe side.
        }
    }

    private static Thread daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }
}
