/** Hosts one server in this process: {@code Launcher kafka|opensearch|s3proxy SETTINGS_FILE}, where the file holds the server's own properties. */
public final class Launcher {
    private Launcher() {}

    public static void main(String[] args) throws Exception {
        Lifeline.watch();
        String server = args[0];
        String settings = args[1];
        switch (server) {
            case "kafka" -> KafkaServer.run(settings);
            case "opensearch" -> OpenSearchServer.run(settings);
            case "s3proxy" -> org.gaul.s3proxy.Main.main(new String[] {"--properties", settings});
            default -> throw new IllegalArgumentException("unknown server: " + server);
        }
    }
}
