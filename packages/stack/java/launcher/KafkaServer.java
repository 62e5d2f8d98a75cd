import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** A combined KRaft broker and controller. A new data folder is formatted in this same process: a second JVM for it would double the start. */
final class KafkaServer {
    private KafkaServer() {}

    static void run(String settingsFile) throws Exception {
        Properties settings = new Properties();
        try (InputStream in = new FileInputStream(settingsFile)) {
            settings.load(in);
        }
        if (!Files.exists(Path.of(settings.getProperty("log.dirs"), "meta.properties"))) {
            String[] format = {"format", "--cluster-id", settings.getProperty("tailrace.cluster.id"), "--config", settingsFile};
            int failed = kafka.tools.StorageTool.execute(format, System.out);
            if (failed != 0) {
                System.exit(failed);
            }
        }
        kafka.Kafka.main(new String[] {settingsFile});
    }
}
