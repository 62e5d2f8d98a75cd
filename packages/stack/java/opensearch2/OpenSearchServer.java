import java.util.List;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.env.Environment;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/** OpenSearch 2 with its modules taken from the class path. */
final class OpenSearchServer extends Node {
    private OpenSearchServer(Environment environment) {
        super(environment, List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, PainlessPlugin.class, ReindexPlugin.class), false);
    }

    static void run(String settingsFile) throws Exception {
        OpenSearchRunner.run(settingsFile, OpenSearchServer::new);
    }
}
