import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

/** What the two OpenSearch lines have in common; they differ only in how a node is told its plugins. */
final class OpenSearchRunner {
    interface Nodes {
        Node make(Environment environment) throws Exception;
    }

    private OpenSearchRunner() {}

    static void run(String settingsFile, Nodes nodes) throws Exception {
        Properties properties = new Properties();
        try (InputStream in = new FileInputStream(settingsFile)) {
            properties.load(in);
        }
        Settings.Builder settings = Settings.builder();
        properties.forEach((name, value) -> settings.put((String) name, (String) value));
        String nodeName = properties.getProperty("node.name");
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings.build(), Map.of(), null, () -> nodeName);
        Node node = nodes.make(environment);
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
                node.awaitClose(6, TimeUnit.SECONDS);
            } catch (IOException | InterruptedException failed) {
                // The process is ending; what was acknowledged is in the translog already.
                System.err.println("closing OpenSearch: " + failed);
            } finally {
                ended.countDown();
            }
        }, "close"));
        node.start();
        // The node's own threads are daemons in part: this one keeps the process.
        ended.await();
    }
}
