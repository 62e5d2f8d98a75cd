import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/** Reads keys in base64, one a line; prints for each the murmur2 hash and the partitions that Kafka's own client picks of 12 and of 7. */
public class KafkaPartitioner {
  public static void main(String[] args) {
    Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
    while (in.hasNextLine()) {
      byte[] key = Base64.getDecoder().decode(in.nextLine());
      System.out.println(Utils.murmur2(key) + " " + BuiltInPartitioner.partitionForKey(key, 12) + " " + BuiltInPartitioner.partitionForKey(key, 7));
    }
  }
}
