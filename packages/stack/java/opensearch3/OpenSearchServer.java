import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/** OpenSearch 3 with its modules taken from the class path. */
final class OpenSearchServer extends Node {
    private static final List<String> PLUGINS = List.of(
            "org.opensearch.transport.Netty4ModulePlugin",
            "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
            "org.opensearch.painless.PainlessModulePlugin",
            "org.opensearch.index.reindex.ReindexModulePlugin");

    private OpenSearchServer(Environment environment) {
        super(environment, plugins(), false);
    }

    static void run(String settingsFile) throws Exception {
        OpenSearchRunner.run(settingsFile, OpenSearchServer::new);
    }

    private static Collection<PluginInfo> plugins() {
        List<PluginInfo> plugins = new ArrayList<>();
        for (String name : PLUGINS) {
            plugins.add(new PluginInfo(name, "class path plugin", "NA", Version.CURRENT, "21", name, null, List.of(), false));
        }
        return plugins;
    }
}
